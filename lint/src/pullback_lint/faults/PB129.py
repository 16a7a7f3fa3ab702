"""save_for_backward gets something that is not a tensor.

## Finds

A number, string, list, shape or flag given to `save_for_backward`.

## Why it matters

PyTorch raises a TypeError in forward.

## Example

```python
import torch


class Total(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, x.shape)
        return x.square().sum()

    @staticmethod
    def backward(ctx, grad_output):
        x, shape = ctx.saved_tensors
        return 2 * grad_output.expand(shape) * x
```

## Instead

```python
import torch


class Total(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.shape = x.shape
        return x.square().sum()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * grad_output.expand(ctx.shape) * x
```

## Exceptions

`None` is allowed.

## Fix

Keep plain data as an attribute of `ctx`.
"""

NAME = "saved-non-tensor"
SEVERITY = "error"
