"""A mean, variance or norm is treated as a constant in backward.

## Finds

A normalising statistic computed from the input in forward whose own derivative is missing.

## Why it matters

The gradient lacks the terms that keep normalisation stable.

## Example

```python
import torch


class Standardise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)
```

## Instead

```python
import torch


class Standardise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        inv = torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)
        xhat = x * inv
        return inv * (grad_output - xhat * (grad_output * xhat).mean(-1, keepdim=True))
```

## Exceptions

Running statistics; a deliberate stop-gradient.

## Fix

Add the derivative of the statistic.
"""

NAME = "statistic-treated-constant"
SEVERITY = "error"
