"""The gradient is a surrogate: forward is locally constant and backward is not zero.

## Finds

Forward is piecewise constant and backward gives a gradient.

## Why it matters

Nothing is wrong; values cannot be compared with a derivative, and the report says so.

## Example

```python
import torch
import pullback as pb


class Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output / (1 + x.abs()) ** 2


pb.check(Spike, torch.randn(20))
```

## Instead

```python
import torch
import pullback as pb


def step(x):
    return (x > 0).to(x.dtype)


def smooth(x):
    return torch.sigmoid(4 * x)


spike = pb.surrogate(step, like=smooth)
```

## Exceptions

A declared intention is compared.

## Fix

Declare the intention, so that it can be checked.
"""

NAME = "surrogate-gradient"
SEVERITY = "note"
