"""More is kept for backward than the gradient needs.

## Finds

Residuals in bytes above the lossless minimum: a float mask, input and output both, an unused input.

## Why it matters

Memory is what limits the batch.

## Example

```python
import torch


class Rectify(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x > 0, x, 0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, grad_output, 0)
```

## Instead

```python
import torch


class Rectify(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x > 0)
        return torch.where(x > 0, x, 0)

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return torch.where(mask, grad_output, 0)
```

## Exceptions

Where recomputation is dear.

## Fix

Keep what the report lists.
"""

NAME = "saves-more-than-needed"
SEVERITY = "note"
