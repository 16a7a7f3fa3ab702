"""The gradient is NaN or infinite for large or small inputs.

## Finds

A gradient that is not finite at an input where the true one is.

## Why it matters

One extreme activation makes every parameter NaN.

## Example

```python
import torch
import pullback as pb


class Softplus(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.nn.functional.softplus(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.exp(x) * torch.exp(-x / 2) / (2 * torch.cosh(x / 2))


pb.check(Softplus, torch.randn(4))
```

## Instead

```python
import torch
import pullback as pb


class Softplus(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.nn.functional.softplus(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(x)


pb.check(Softplus, torch.randn(4))
```

## Exceptions

Where the true gradient is not finite.

## Fix

Use the stable form that the report prints.
"""

NAME = "nonfinite-at-extreme"
SEVERITY = "error"
