"""The gradient is not the one declared.

## Finds

A Function with a declared intention (`intended=`, `grad_like`) whose gradient differs from it.

## Why it matters

The deliberate gradient is not what was meant.

## Example

```python
def intended(x): return x.clamp(-1, 1)
...
return grad_output * (x.abs() <= 2)
```

## Instead

```python
return grad_output * (x.abs() <= 1)
```

## Exceptions

None.

## Fix

Correct the gradient or the declaration.
"""

NAME = "intended-mismatch"
SEVERITY = "error"
