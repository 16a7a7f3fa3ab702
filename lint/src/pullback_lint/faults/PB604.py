"""The gradient is NaN or infinite at a point where the function is fine.

## Finds

A division by a norm, a square root, an absolute value or a difference that is zero there.

## Why it matters

One zero vector in a batch makes every parameter NaN.

## Example

```python
import torch


class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v):
        ctx.save_for_backward(v)
        return v.norm(dim=-1)

    @staticmethod
    def backward(ctx, grad_output):
        (v,) = ctx.saved_tensors
        return grad_output.unsqueeze(-1) * v / v.norm(dim=-1, keepdim=True)
```

## Instead

```python
import torch


class Length(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v):
        ctx.save_for_backward(v)
        return v.norm(dim=-1)

    @staticmethod
    def backward(ctx, grad_output):
        (v,) = ctx.saved_tensors
        n = v.norm(dim=-1, keepdim=True)
        return grad_output.unsqueeze(-1) * v / torch.where(n == 0, torch.ones_like(n), n)
```

## Exceptions

Inputs that cannot be zero.

## Fix

Divide by a safe value (`where`, `clamp_min`).
"""

NAME = "nan-at-kink"
SEVERITY = "error"
