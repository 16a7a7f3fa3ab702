"""A mask used in forward is missing in backward.

## Finds

Elements that forward excludes and backward does not.

## Why it matters

Padded or ignored elements get a gradient.

## Example

```python
import torch


class MaskedSquares(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, keep):
        ctx.save_for_backward(x)
        return (x.square() * keep).sum()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * grad_output * x, None
```

## Instead

```python
import torch


class MaskedSquares(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, keep):
        ctx.save_for_backward(x, keep)
        return (x.square() * keep).sum()

    @staticmethod
    def backward(ctx, grad_output):
        x, keep = ctx.saved_tensors
        return 2 * grad_output * x * keep, None
```

## Exceptions

None.

## Fix

Apply the mask to the gradient too.
"""

NAME = "mask-not-applied"
SEVERITY = "error"
