"""The second derivative is wrong.

## Finds

Double backward gives other values than the derivative of the gradient.

## Why it matters

Gradient penalties, Hessians and meta-learning train with wrong numbers.

## Example

```python
import torch
import pullback as pb


class Silu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x.detach())
        return grad_output * s * (1 + x * (1 - s))


pb.check(Silu, torch.randn(4))
```

## Instead

```python
import torch
import pullback as pb


class Silu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * s * (1 + x * (1 - s))


pb.check(Silu, torch.randn(4))
```

## Exceptions

Functions marked `once_differentiable`, which raise.

## Fix

Compute backward from saved inputs, or mark it `once_differentiable`.
"""

NAME = "second-derivative-wrong"
SEVERITY = "warning"
