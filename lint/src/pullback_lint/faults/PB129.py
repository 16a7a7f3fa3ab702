"""save_for_backward gets something that is not a tensor.

## Finds

A number, string, list, shape or flag given to `save_for_backward`.

## Why it matters

PyTorch raises a TypeError in forward.

## Example

```python
ctx.save_for_backward(x, x.shape)
```

## Instead

```python
ctx.save_for_backward(x)
ctx.shape = x.shape
```

## Exceptions

`None` is allowed.

## Fix

Keep plain data as an attribute of `ctx`.
"""

NAME = "saved-non-tensor"
SEVERITY = "error"
