"""The formula is right, but the dtype is not precise enough for it.

## Finds

An error in low precision far above that of plain PyTorch in the same dtype.

## Why it matters

Gradients are noise at some inputs.

## Example

```python
import torch
import pullback as pb


class HalfSquare(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x / 2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ((x + 8) - 8)


pb.check(HalfSquare, torch.randn(3, 4))
```

## Instead

```python
import torch
import pullback as pb


class HalfSquare(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x / 2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x


pb.check(HalfSquare, torch.randn(3, 4))
```

## Exceptions

Inputs where plain PyTorch is as bad.

## Fix

Rewrite, or compute in a higher precision.
"""

NAME = "float32-not-enough"
SEVERITY = "warning"
