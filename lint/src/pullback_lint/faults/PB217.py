"""The gate of a straight-through gradient is wrong.

## Finds

A condition that is always true (`x >= lo or x <= hi`), never true, or differs from the range that forward clamps
to.

## Why it matters

Gradients pass where they should not, or are blocked where they should pass.

## Example

```python
import torch


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, img, lo, hi):
        ctx.save_for_backward(img)
        ctx.lo, ctx.hi = lo, hi
        return img.clamp(lo, hi)

    @staticmethod
    def backward(ctx, grad_output):
        (img,) = ctx.saved_tensors
        inside = torch.logical_or(img >= ctx.lo, img <= ctx.hi)
        return grad_output * inside, None, None
```

## Instead

```python
import torch


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, img, lo, hi):
        ctx.save_for_backward(img)
        ctx.lo, ctx.hi = lo, hi
        return img.clamp(lo, hi)

    @staticmethod
    def backward(ctx, grad_output):
        (img,) = ctx.saved_tensors
        inside = torch.logical_and(img >= ctx.lo, img <= ctx.hi)
        return grad_output * inside, None, None
```

## Exceptions

None.

## Fix

Use `and`.
"""

NAME = "ste-gate-wrong"
SEVERITY = "error"
