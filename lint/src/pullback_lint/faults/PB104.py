"""A gradient is a tuple instead of a tensor.

## Finds

`torch.autograd.grad(…)`, which returns a tuple, or a literal tuple or list given as one of the gradients.

## Why it matters

The engine expects tensors and raises.

## Example

```python
d_path = torch.autograd.grad(s, path, grad_output)
return d_path, None
```

## Instead

```python
(d_path,) = torch.autograd.grad(s, path, grad_output)
return d_path, None
```

## Exceptions

Returning the whole tuple of `torch.autograd.grad` as the result of backward is right when it has one entry per
input.

## Fix

Unpack the tuple.
"""

NAME = "nested-tuple-return"
SEVERITY = "error"
