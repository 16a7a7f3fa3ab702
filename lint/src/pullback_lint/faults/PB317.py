"""The graph of an inner differentiation is retained.

## Finds

`retain_graph=True` inside backward.

## Why it matters

Memory stays alive until the tensors die; usually one call with several inputs does.

## Example

```python
import torch
from torch.autograd.function import once_differentiable


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (x * w).sin()

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        x, w = (item.detach().requires_grad_() for item in ctx.saved_tensors)
        with torch.enable_grad():
            y = (x * w).sin()
        (grad_x,) = torch.autograd.grad(y, x, grad_output, retain_graph=True)
        (grad_w,) = torch.autograd.grad(y, w, grad_output)
        return grad_x, grad_w
```

## Instead

```python
import torch
from torch.autograd.function import once_differentiable


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (x * w).sin()

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        x, w = (item.detach().requires_grad_() for item in ctx.saved_tensors)
        with torch.enable_grad():
            y = (x * w).sin()
        grad_x, grad_w = torch.autograd.grad(y, (x, w), grad_output)
        return grad_x, grad_w
```

## Exceptions

Several differentiations of one graph.

## Fix

Ask for all gradients in one call.
"""

NAME = "inner-retain-graph"
SEVERITY = "note"
