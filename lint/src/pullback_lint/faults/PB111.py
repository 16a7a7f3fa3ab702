"""mark_non_differentiable gets a tensor that forward does not return.

## Finds

A call of `ctx.mark_non_differentiable` on a new expression or on a name that no return contains.

## Why it matters

The mark has no effect: it goes by identity of the returned tensor.

## Example

```python
import torch


class Largest(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        value, index = x.max(-1)
        ctx.mark_non_differentiable(index.clone())
        ctx.save_for_backward(index)
        ctx.shape = x.shape
        return value, index

    @staticmethod
    def backward(ctx, grad_value, _):
        (index,) = ctx.saved_tensors
        grad = grad_value.new_zeros(ctx.shape)
        return grad.scatter(-1, index.unsqueeze(-1), grad_value.unsqueeze(-1))
```

## Instead

```python
import torch


class Largest(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        value, index = x.max(-1)
        ctx.mark_non_differentiable(index)
        ctx.save_for_backward(index)
        ctx.shape = x.shape
        return value, index

    @staticmethod
    def backward(ctx, grad_value, _):
        (index,) = ctx.saved_tensors
        grad = grad_value.new_zeros(ctx.shape)
        return grad.scatter(-1, index.unsqueeze(-1), grad_value.unsqueeze(-1))
```

## Exceptions

None.

## Fix

Mark the very object that is returned.
"""

NAME = "nondiff-mark-fresh"
SEVERITY = "warning"
