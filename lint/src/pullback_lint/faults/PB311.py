"""A Function uses a parameter or module that is not an input.

## Finds

A module-level `nn.Parameter`, `nn.Module` or tensor that requires a gradient, or one of an enclosing function, read
in forward.

## Why it matters

Autograd sees the inputs of `apply` alone: it never trains, without a word.

## Example

```python
import torch

SCALE = torch.nn.Parameter(torch.ones(()))


class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * SCALE

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * SCALE
```

## Instead

```python
import torch


class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x, scale)
        return x * scale

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        return grad_output * scale, (grad_output * x).sum_to_size(scale.shape)
```

## Exceptions

Constant tensors.

## Fix

Pass it to `apply` and return its gradient.
"""

NAME = "closure-captured-param"
SEVERITY = "error"
