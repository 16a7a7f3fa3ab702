"""A module or callable is an input of a Function.

## Finds

An input of forward that is called like a function or whose parameters are used.

## Why it matters

Its parameters are not tracked: they get no gradient from this node.

## Example

```python
import torch
from torch.autograd.function import once_differentiable


class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, module):
        ctx.save_for_backward(x)
        ctx.module = module
        return module(x)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.module(x)
        (grad,) = torch.autograd.grad(y, x, grad_output)
        return grad, None
```

## Instead

```python
import torch
from torch.autograd.function import once_differentiable


class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, run, *parameters):
        ctx.save_for_backward(x, *parameters)
        ctx.run = run
        return run(x, parameters)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        x, *parameters = [item.detach().requires_grad_() for item in ctx.saved_tensors]
        with torch.enable_grad():
            y = ctx.run(x, parameters)
        grad, *rest = torch.autograd.grad(y, (x, *parameters), grad_output)
        return grad, None, *rest
```

## Exceptions

Checkpoint implementations that differentiate inside backward.

## Fix

Pass the parameters as inputs.
"""

NAME = "module-input-untracked"
SEVERITY = "note"
