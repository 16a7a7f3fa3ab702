"""The forward differs from its reference.

## Finds

A forward that gives other values than the given reference.

## Why it matters

Gradients of a wrong function are wrong.

## Example

```python
pb.check(fused, x, reference=plain)
```

## Instead

```python
return plain(x)
```

## Exceptions

Low precision within its tolerance.

## Fix

Correct the forward.
"""

NAME = "wrong-forward-value"
SEVERITY = "error"
