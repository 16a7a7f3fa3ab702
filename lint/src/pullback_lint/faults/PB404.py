"""The Function is written with forward(ctx, …) and cannot be used under torch.func.

## Finds

A class without `setup_context`.

## Why it matters

`torch.func.grad`, `vmap`, `jacrev` and the like refuse it.

## Example

```python
import torch


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * grad_output * x**2
```

## Instead

```python
import torch


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * grad_output * x**2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
```

## Exceptions

Functions that no transform will ever meet; the classic form is faster per call.

## Fix

`pullback modernize` rewrites it.
"""

NAME = "no-setup-context"
SEVERITY = "note"
