"""save_for_backward is called more than once.

## Finds

Two calls of `ctx.save_for_backward` on one path.

## Why it matters

The second call replaces the first: what was saved first is gone.

## Example

```python
import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x)
        ctx.save_for_backward(weight)
        return x * weight

    @staticmethod
    def backward(ctx, grad_output):
        x = weight = ctx.saved_tensors[0]
        return grad_output * weight, grad_output * x
```

## Instead

```python
import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        return grad_output * weight, grad_output * x
```

## Exceptions

Calls in different branches.

## Fix

Save everything in one call.
"""

NAME = "saved-twice"
SEVERITY = "error"
