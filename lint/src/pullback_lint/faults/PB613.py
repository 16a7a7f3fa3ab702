"""A logarithm or reciprocal of something that can be zero.

## Finds

`log(p)` of a probability, without `eps` or clamp, in a loss.

## Why it matters

Minus infinity, and NaN in the gradient.

## Example

```python
import torch
from torch.autograd.function import once_differentiable


class Entropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        p = torch.softmax(x, -1)
        ctx.save_for_backward(x)
        return -(p * torch.log(p)).sum(-1)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        log_p = torch.log_softmax(x, -1)
        mean = (log_p.exp() * log_p).sum(-1, keepdim=True)
        return -grad_output.unsqueeze(-1) * log_p.exp() * (log_p - mean)
```

## Instead

```python
import torch
from torch.autograd.function import once_differentiable


class Entropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        log_p = torch.log_softmax(x, -1)
        ctx.save_for_backward(x)
        return -(log_p.exp() * log_p).sum(-1)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        log_p = torch.log_softmax(x, -1)
        mean = (log_p.exp() * log_p).sum(-1, keepdim=True)
        return -grad_output.unsqueeze(-1) * log_p.exp() * (log_p - mean)
```

## Exceptions

Arguments that are clamped.

## Fix

Use the logarithmic form, or clamp.
"""

NAME = "log-near-zero"
SEVERITY = "warning"
