"""Backward leaves autograd without saying so.

## Finds

`no_grad`, `.data`, `.detach()`, `.item()`, NumPy, or an inner `autograd.grad` without `create_graph` in backward,
without `@once_differentiable`.

## Why it matters

A second derivative is silently wrong or zero instead of raising.

## Example

```python
import torch


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    @torch.no_grad()
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * grad_output * x**2
```

## Instead

```python
import torch
from torch.autograd.function import once_differentiable


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * grad_output * x**2
```

## Exceptions

Detaching a constant.

## Fix

Use `torch.autograd.function.once_differentiable`, or stay in torch.
"""

NAME = "once-differentiable-missing"
SEVERITY = "warning"
