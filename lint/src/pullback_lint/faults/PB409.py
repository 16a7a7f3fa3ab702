"""Forward mode and reverse mode disagree.

## Finds

A `jvp` whose inner product with a cotangent differs from that of backward.

## Why it matters

Hessians and forward-mode results are silently wrong.

## Example

```python
def jvp(ctx, x_t): return x_t
```

## Instead

```python
def jvp(ctx, x_t): return 2 * x * x_t
```

## Exceptions

Surrogates whose two rules are meant to differ.

## Fix

Use the derivative in both.
"""

NAME = "jvp-wrong"
SEVERITY = "error"
