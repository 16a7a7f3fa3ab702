"""The gradient is not the derivative of the forward.

## Finds

A formula that differs from the derivative: a lost factor, a sign, a missing product term, the output used for the
input.

## Why it matters

Training runs, slower and to another place.

## Example

```python
import torch


class Morse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, r, depth):
        ctx.save_for_backward(r)
        ctx.depth = depth
        e = torch.exp(-r)
        return depth * (1 - e) ** 2

    @staticmethod
    def backward(ctx, grad_output):
        (r,) = ctx.saved_tensors
        e = torch.exp(-r)
        return grad_output * 2 * ctx.depth * (1 - e), None
```

## Instead

```python
import torch


class Morse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, r, depth):
        ctx.save_for_backward(r)
        ctx.depth = depth
        e = torch.exp(-r)
        return depth * (1 - e) ** 2

    @staticmethod
    def backward(ctx, grad_output):
        (r,) = ctx.saved_tensors
        e = torch.exp(-r)
        return grad_output * 2 * ctx.depth * (1 - e) * e, None
```

## Exceptions

A gradient that is meant to differ: declare it (`# pullback: surrogate`, `intended=`).

## Fix

Use the formula that the report prints.
"""

NAME = "wrong-derivative"
SEVERITY = "error"
