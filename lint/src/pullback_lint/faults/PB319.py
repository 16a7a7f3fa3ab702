"""A tensor is changed in place after it was saved.

## Finds

An in-place operation in forward on a name given to `save_for_backward` before.

## Why it matters

Backward raises by the version check, or reads the changed value if the change was hidden.

## Example

```python
import torch


class Sine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        x.sin_()
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.cos(x)
```

## Instead

```python
import torch


class Sine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.cos(x)
```

## Exceptions

The change before saving.

## Fix

Save after the change, or change a copy.
"""

NAME = "saved-before-inplace"
SEVERITY = "error"
