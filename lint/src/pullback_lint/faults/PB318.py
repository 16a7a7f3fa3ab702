"""Forward gives other values for a non-contiguous input.

## Finds

An input with other strides and equal values gives another result.

## Why it matters

Silently wrong numbers for transposed and sliced inputs.

## Example

```python
import torch
import pullback as pb


class Cubes(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.detach().as_strided(x.shape, (x.shape[1], 1)) ** 3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * grad_output * x**2


pb.check(Cubes, torch.randn(3, 4), reference=lambda x: x**3)
```

## Instead

```python
import torch
import pullback as pb


class Cubes(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.detach().contiguous().as_strided(x.shape, (x.shape[1], 1)) ** 3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * grad_output * x**2


pb.check(Cubes, torch.randn(3, 4), reference=lambda x: x**3)
```

## Exceptions

None.

## Fix

Call `.contiguous()`, or pass the strides.
"""

NAME = "forward-layout-dependent"
SEVERITY = "error"
