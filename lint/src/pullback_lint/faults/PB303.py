"""Forward changes an input in place without mark_dirty.

## Finds

An in-place operation on an input of `forward` without `ctx.mark_dirty` for it.

## Why it matters

The version counter is not raised in time and history is not rewritten: earlier nodes use overwritten values.

## Example

```python
import torch


class Leaky(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, slope: float):
        negative = x < 0
        x[negative] *= slope
        ctx.save_for_backward(negative)
        ctx.slope = slope
        return x

    @staticmethod
    def backward(ctx, grad_output):
        (negative,) = ctx.saved_tensors
        return torch.where(negative, ctx.slope * grad_output, grad_output), None
```

## Instead

```python
import torch


class Leaky(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, slope: float):
        negative = x < 0
        x[negative] *= slope
        ctx.mark_dirty(x)
        ctx.save_for_backward(negative)
        ctx.slope = slope
        return x

    @staticmethod
    def backward(ctx, grad_output):
        (negative,) = ctx.saved_tensors
        return torch.where(negative, ctx.slope * grad_output, grad_output), None
```

## Exceptions

Inputs that are buffers without gradient, and integer tensors, may be changed by contract of the caller.

## Fix

Call `ctx.mark_dirty(x)` and return `x`, or work on a copy.
"""

NAME = "inplace-unmarked"
SEVERITY = "error"
