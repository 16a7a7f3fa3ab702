"""Saved and unpacked tensors differ in number.

## Finds

`a, b = ctx.saved_tensors` where `save_for_backward` got another number.

## Why it matters

A ValueError on the first backward pass, or a tuple where a tensor was meant.

## Example

```python
import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x)
        return x * weight

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        return grad_output * weight, grad_output * x
```

## Instead

```python
import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        return grad_output * weight, grad_output * x
```

## Exceptions

Starred unpacking, and several branches that save alike.

## Fix

Unpack exactly what is saved.
"""

NAME = "saved-count-mismatch"
SEVERITY = "error"
