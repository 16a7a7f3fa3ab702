"""Backward recomputes and differentiates without switching recording on.

## Finds

`torch.autograd.grad` or `.backward()` in backward on something computed there outside of `torch.enable_grad()`.

## Why it matters

Backward runs without recording: there is no graph, and the call raises.

## Example

```python
import torch
from torch.autograd.function import once_differentiable


class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        y = x.sin()
        return torch.autograd.grad(y, x, grad_output)[0]
```

## Instead

```python
import torch
from torch.autograd.function import once_differentiable


class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = x.sin()
        return torch.autograd.grad(y, x, grad_output)[0]
```

## Exceptions

Graphs that were recorded in forward.

## Fix

Put the recomputation into `with torch.enable_grad():`.
"""

NAME = "recompute-no-enable-grad"
SEVERITY = "error"
