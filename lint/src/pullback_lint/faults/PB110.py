"""An output that depends smoothly on an input is marked as non-differentiable.

## Finds

`ctx.mark_non_differentiable(y)` where `y` is computed from an input by differentiable operations.

## Why it matters

Whoever uses that output gets no gradient through it, silently.

## Example

```python
import torch


class Normalise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        scale = x.abs().mean()
        ctx.mark_non_differentiable(scale)
        ctx.save_for_backward(x, scale)
        return x * scale, scale

    @staticmethod
    def backward(ctx, grad_output, _):
        x, scale = ctx.saved_tensors
        return grad_output * scale + (grad_output * x).sum() * x.sign() / x.numel()
```

## Instead

```python
import torch


class Normalise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        scale = x.abs().mean()
        ctx.save_for_backward(x, scale)
        return x * scale, scale

    @staticmethod
    def backward(ctx, grad_output, grad_scale):
        x, scale = ctx.saved_tensors
        return grad_output * scale + ((grad_output * x).sum() + grad_scale) * x.sign() / x.numel()
```

## Exceptions

Indices, masks, counts and other piecewise constant outputs. Outputs declared as mere statistics on purpose.

## Fix

Leave it differentiable and add its gradient, or return `scale.detach()` from the caller, where it is seen.
"""

NAME = "nondiff-mark-wrong"
SEVERITY = "error"
