"""Backward computes what forward has, or the same thing twice.

## Finds

An expensive operation that is done twice with equal arguments.

## Why it matters

Time.

## Example

```python
import torch


class Exponential(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.exp(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.exp(x)
```

## Instead

```python
import torch


class Exponential(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y
```

## Exceptions

Recomputation that saves memory on purpose.

## Fix

Save the output.
"""

NAME = "repeated-work"
SEVERITY = "note"
