"""The gradient is not the one declared.

## Finds

A Function with a declared intention (`intended=`, `grad_like`) whose gradient differs from it.

## Why it matters

The deliberate gradient is not what was meant.

## Example

```python
import torch
import pullback as pb


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(-1, 1).round()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= 2)


pb.check(Clip, 3 * torch.randn(20), intended=lambda x: x.clamp(-1, 1))
```

## Instead

```python
import torch
import pullback as pb


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(-1, 1).round()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= 1)


pb.check(Clip, 3 * torch.randn(20), intended=lambda x: x.clamp(-1, 1))
```

## Exceptions

None.

## Fix

Correct the gradient or the declaration.
"""

NAME = "intended-mismatch"
SEVERITY = "error"
