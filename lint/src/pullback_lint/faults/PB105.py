"""A cotangent that can be None is used without a check.

## Finds

Arithmetic on a `grad_output` in a class that calls `ctx.set_materialize_grads(False)`, without asking whether it is
`None`.

## Why it matters

With several outputs, the cotangent of an unused one is `None`, and backward raises a TypeError.

## Example

```python
import torch


class TwoHeads(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x)
        return x.sin(), x.cos()

    @staticmethod
    def backward(ctx, g_sin, g_cos):
        (x,) = ctx.saved_tensors
        return g_sin * x.cos() - g_cos * x.sin()
```

## Instead

```python
import torch


class TwoHeads(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin(), x.cos()

    @staticmethod
    def backward(ctx, g_sin, g_cos):
        (x,) = ctx.saved_tensors
        return g_sin * x.cos() - g_cos * x.sin()
```

## Exceptions

With the default, unused outputs arrive as zeros and no check is needed. A single output's cotangent is never `None`
in a backward pass.

## Fix

Check each cotangent for `None`, or leave out `set_materialize_grads(False)`.
"""

NAME = "none-grad-output"
SEVERITY = "error"
