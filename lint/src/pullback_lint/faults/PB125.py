"""Backward reads a ctx attribute that is never set.

## Finds

`ctx.name` read in `backward`, `jvp` or `vjp`, and set nowhere in the class or its bases.

## Why it matters

An AttributeError on the first backward pass.

## Example

```python
import torch


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        return x * scale

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.scale, None
```

## Instead

```python
import torch


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.scale = scale
        return x * scale

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.scale, None
```

## Exceptions

Attributes set through `setattr` or by a function that gets `ctx`.

## Fix

Set it in forward (or setup_context).
"""

NAME = "ctx-attribute-unset"
SEVERITY = "error"
