"""A graph recorded in forward is consumed by the first backward.

## Finds

`torch.autograd.grad(ctx.e, …)` in backward on a graph that was recorded in forward, without `retain_graph`.

## Why it matters

A second backward pass (`retain_graph=True`, several losses) raises.

## Example

```python
import torch
from torch.autograd.function import once_differentiable


class Energy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q):
        with torch.enable_grad():
            ctx.q = q.detach().requires_grad_()
            ctx.e = (ctx.q**4).sum()
        return ctx.e.detach()

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (grad,) = torch.autograd.grad(ctx.e, ctx.q, grad_output)
        return grad
```

## Instead

```python
import torch
from torch.autograd.function import once_differentiable


class Energy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q):
        ctx.save_for_backward(q)
        return (q**4).sum()

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        q = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            e = (q**4).sum()
        (grad,) = torch.autograd.grad(e, q, grad_output)
        return grad
```

## Exceptions

None.

## Fix

Record the graph again in backward.
"""

NAME = "inner-graph-freed"
SEVERITY = "error"
