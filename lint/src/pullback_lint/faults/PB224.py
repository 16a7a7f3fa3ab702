"""The forward differs from its reference.

## Finds

A forward that gives other values than the given reference.

## Why it matters

Gradients of a wrong function are wrong.

## Example

```python
import torch
import pullback as pb


class Softplus(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.log1p(torch.exp(-x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return -grad_output * torch.sigmoid(-x)


pb.check(Softplus, torch.randn(4), reference=torch.nn.functional.softplus)
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


pb.check(Softplus, torch.randn(4), reference=torch.nn.functional.softplus)
```

## Exceptions

Low precision within its tolerance.

## Fix

Correct the forward.
"""

NAME = "wrong-forward-value"
SEVERITY = "error"
