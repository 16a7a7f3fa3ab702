"""The gradient is not the one declared.

## Finds

A Function with a declared intention (`intended=`, `grad_like`) whose gradient differs from it.

## Why it matters

The deliberate gradient is not what was meant.

## Example

```python
import torch
import pullback as pb


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.strength * grad_output, None


pb.check(Reverse, torch.randn(20), 0.5, intended=lambda x, strength: -strength * x)
```

## Instead

```python
import torch
import pullback as pb


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.strength * grad_output, None


pb.check(Reverse, torch.randn(20), 0.5, intended=lambda x, strength: -strength * x)
```

## Exceptions

None.

## Fix

Correct the gradient or the declaration.
"""

NAME = "intended-mismatch"
SEVERITY = "error"
