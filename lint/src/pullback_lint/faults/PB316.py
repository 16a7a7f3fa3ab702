""".backward() is called inside backward.

## Finds

`something.backward(…)` in the `backward` of a Function.

## Why it matters

It adds to `.grad` of whatever it reaches, saved tensors included: gradients are counted twice and hooks run twice.

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
        with torch.enable_grad():
            y = x.sin()
        y.backward(grad_output)
        return x.grad
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

Checkpoint implementations, which mean to reach parameters.

## Fix

Use `torch.autograd.grad`.
"""

NAME = "inner-backward-call"
SEVERITY = "warning"
