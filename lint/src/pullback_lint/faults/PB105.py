"""A cotangent that can be None is used without a check.

## Finds

Arithmetic on a `grad_output` in a class that calls `ctx.set_materialize_grads(False)`, without asking whether it is
`None`.

## Why it matters

With several outputs, the cotangent of an unused one is `None`, and backward raises a TypeError.

## Example

```python
ctx.set_materialize_grads(False)
...
def backward(ctx, g_data, g_pen):
    return e * g_data
```

## Instead

```python
def backward(ctx, g_data, g_pen):
    return e * g_data if g_data is not None else None
```

## Exceptions

With the default, unused outputs arrive as zeros and no check is needed. A single output's cotangent is never `None`
in a backward pass.

## Fix

Check each cotangent for `None`, or leave out `set_materialize_grads(False)`.
"""

NAME = "none-grad-output"
SEVERITY = "error"
