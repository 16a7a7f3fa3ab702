"""A gradient is returned for an input that is not a tensor.

## Finds

A value other than `None` in the place of a plain Python number, string, flag, shape or callable.

## Why it matters

Autograd raises as soon as backward runs. The author believes that the number is trained; it is not.

## Example

```python
import torch


class Gain(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, coeff: float):
        ctx.save_for_backward(x)
        ctx.coeff = coeff
        return x * coeff

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ctx.coeff, (grad_output * x).sum()
```

## Instead

```python
import torch


class Gain(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, coeff: float):
        ctx.coeff = coeff
        return x * coeff

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.coeff, None
```

## Exceptions

None: a Python number never takes a gradient. Pass it as a tensor if it is to be trained.

## Fix

Return `None` in its place.
"""

NAME = "grad-for-nontensor"
SEVERITY = "error"
