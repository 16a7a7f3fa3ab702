"""Backward raises.

## Finds

A backward that raises an error of its own when it is run; only the checker can see it.

## Why it matters

Nothing upstream can be trained. Often it shows only for some shapes, dtypes or branches.

## Example

```python
def backward(ctx, grad_output):
    (x,) = ctx.saved_tensors
    return grad_output @ x
```

## Instead

```python
def backward(ctx, grad_output):
    (x,) = ctx.saved_tensors
    return grad_output * x
```

## Exceptions

A backward that raises on purpose, to say that there is no gradient.

## Fix

Read the error that is reported and mend the line it comes from.
"""

NAME = "backward-raises"
SEVERITY = "error"
