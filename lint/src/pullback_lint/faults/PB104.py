"""A gradient is a tuple instead of a tensor.

## Finds

`torch.autograd.grad(…)`, which returns a tuple, or a literal tuple or list given as one of the gradients.

## Why it matters

The engine expects tensors and raises.

## Example

```python
import torch


class Action(torch.autograd.Function):
    @staticmethod
    def forward(ctx, path, mass):
        ctx.save_for_backward(path)
        ctx.mass = mass
        return mass * path.square().sum()

    @staticmethod
    def backward(ctx, grad_output):
        path = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            s = ctx.mass * path.square().sum()
        d_path = torch.autograd.grad(s, path, grad_output, create_graph=True)
        return d_path, None
```

## Instead

```python
import torch


class Action(torch.autograd.Function):
    @staticmethod
    def forward(ctx, path, mass):
        ctx.save_for_backward(path)
        ctx.mass = mass
        return mass * path.square().sum()

    @staticmethod
    def backward(ctx, grad_output):
        path = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            s = ctx.mass * path.square().sum()
        (d_path,) = torch.autograd.grad(s, path, grad_output, create_graph=True)
        return d_path, None
```

## Exceptions

Returning the whole tuple of `torch.autograd.grad` as the result of backward is right when it has one entry per
input.

## Fix

Unpack the tuple.
"""

NAME = "nested-tuple-return"
SEVERITY = "error"
