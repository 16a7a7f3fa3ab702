"""A gradient is made with torch.empty and not filled completely.

## Finds

`empty`, `empty_like`, `new_empty` as a gradient that is only partly assigned.

## Why it matters

Whatever was in memory becomes a gradient; often zeros, sometimes NaN.

## Example

```python
import torch


class Visible(torch.autograd.Function):
    @staticmethod
    def forward(ctx, points, visible):
        ctx.save_for_backward(visible)
        ctx.shape = points.shape
        return points[visible]

    @staticmethod
    def backward(ctx, grad_output):
        (visible,) = ctx.saved_tensors
        grad = grad_output.new_empty(ctx.shape)
        grad[visible] = grad_output
        return grad, None
```

## Instead

```python
import torch


class Visible(torch.autograd.Function):
    @staticmethod
    def forward(ctx, points, visible):
        ctx.save_for_backward(visible)
        ctx.shape = points.shape
        return points[visible]

    @staticmethod
    def backward(ctx, grad_output):
        (visible,) = ctx.saved_tensors
        grad = grad_output.new_zeros(ctx.shape)
        grad[visible] = grad_output
        return grad, None
```

## Exceptions

Buffers filled by a kernel, `copy_`, `fill_` or a slice of everything.

## Fix

Use `zeros`.
"""

NAME = "uninitialised-grad"
SEVERITY = "error"
