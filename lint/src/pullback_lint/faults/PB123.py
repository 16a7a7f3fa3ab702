"""Saved and unpacked tensors differ in number.

## Finds

`a, b = ctx.saved_tensors` where `save_for_backward` got another number.

## Why it matters

A ValueError on the first backward pass, or a tuple where a tensor was meant.

## Example

```python
ctx.save_for_backward(x)
...
x, weight = ctx.saved_tensors
```

## Instead

```python
ctx.save_for_backward(x, weight)
```

## Exceptions

Starred unpacking, and several branches that save alike.

## Fix

Unpack exactly what is saved.
"""

NAME = "saved-count-mismatch"
SEVERITY = "error"
