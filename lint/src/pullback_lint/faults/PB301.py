"""Backward changes its cotangent in place.

## Finds

An in-place operation on `grad_output`, a view of it, or an `out=` that is it.

## Why it matters

The tensor belongs to the engine and may be shared with other branches of the graph: their gradients become wrong.

## Example

```python
import torch


class Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, p: float):
        ctx.p = p
        return x * p

    @staticmethod
    def backward(ctx, grad_output):
        grad_output.mul_(ctx.p)
        return grad_output, None
```

## Instead

```python
import torch


class Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, p: float):
        ctx.p = p
        return x * p

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.p, None
```

## Exceptions

After `grad_output = grad_output.clone()`.

## Fix

Compute out of place, or clone first.
"""

NAME = "grad-output-mutated"
SEVERITY = "error"
