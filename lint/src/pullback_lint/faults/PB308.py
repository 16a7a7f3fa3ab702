"""A tensor made in forward is kept as an attribute of ctx.

## Finds

`ctx.mask = …` where the value is a tensor computed in forward.

## Why it matters

It is invisible to saved-tensor hooks, offloading and checkpointing, and stays alive after backward.

## Example

```python
import torch


class Rectify(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mask = x > 0
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.mask
```

## Instead

```python
import torch


class Rectify(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x > 0)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return grad_output * mask
```

## Exceptions

Small constants; tensors that only forward mode needs.

## Fix

Use `save_for_backward`.
"""

NAME = "ctx-tensor-bypass-hooks"
SEVERITY = "warning"
