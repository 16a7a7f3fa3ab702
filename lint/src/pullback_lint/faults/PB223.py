"""Backward is not linear in its cotangent.

## Finds

b(u + v) differs from b(u) + b(v), for instance after clamping or normalising the cotangent.

## Why it matters

A vector-Jacobian product is linear; forward mode, checkpointing of sums and gradient accumulation assume it.

## Example

```python
import torch
import pullback as pb


class Sine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output.clamp(-10, 10) * torch.cos(x)


pb.check(Sine, torch.randn(4))
```

## Instead

```python
import torch
import pullback as pb


class Sine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.cos(x)


pb.check(Sine, torch.randn(4))
```

## Exceptions

Gradient clipping on purpose.

## Fix

Declare it, or make the formula linear.
"""

NAME = "nonlinear-backward"
SEVERITY = "note"
