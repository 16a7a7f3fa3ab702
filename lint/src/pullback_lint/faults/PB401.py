"""Backward uses a saved intermediate, so the second derivative is silently wrong.

## Finds

A tensor computed from the inputs in forward, saved, and used in backward, without `once_differentiable`.

## Why it matters

Forward runs without recording: the intermediate is a constant for the second derivative, and its terms are missing
without a word.

## Example

```python
import torch


class Softplus(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        slope = torch.sigmoid(x)
        ctx.save_for_backward(slope)
        return torch.nn.functional.softplus(x)

    @staticmethod
    def backward(ctx, grad_output):
        (slope,) = ctx.saved_tensors
        return grad_output * slope
```

## Instead

```python
import torch


class Softplus(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.nn.functional.softplus(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(x)
```

## Exceptions

Piecewise constant intermediates (masks, indices, signs), outputs, and Functions whose gradient is a surrogate.

## Fix

Recompute it in backward from saved inputs, return it as an output, or mark backward with `@once_differentiable`.
"""

NAME = "double-backward-intermediate"
SEVERITY = "warning"
