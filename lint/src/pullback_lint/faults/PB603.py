"""An intermediate value leaves the range of float16.

## Finds

A reciprocal of a square, a square or a product that overflows in half precision although the result is
representable.

## Why it matters

Infinity or zero instead of a gradient under half precision.

## Example

```python
import torch


class Angle(torch.autograd.Function):
    @staticmethod
    def forward(ctx, dx, dy):
        ctx.save_for_backward(dx, dy)
        return torch.atan2(dy, dx)

    @staticmethod
    def backward(ctx, grad_output):
        dx, dy = ctx.saved_tensors
        inv = 1.0 / (dx * dx + dy * dy)
        return -grad_output * dy * inv, grad_output * dx * inv
```

## Instead

```python
import torch


class Angle(torch.autograd.Function):
    @staticmethod
    def forward(ctx, dx, dy):
        ctx.save_for_backward(dx, dy)
        return torch.atan2(dy, dx)

    @staticmethod
    def backward(ctx, grad_output):
        dx, dy = ctx.saved_tensors
        r = torch.hypot(dx, dy)
        return -grad_output * (dy / r) / r, grad_output * (dx / r) / r
```

## Exceptions

Functions that compute in float32.

## Fix

Divide in two steps, or compute in float32.
"""

NAME = "fp16-overflow"
SEVERITY = "error"
