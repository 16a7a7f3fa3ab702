"""A gradient does not contain the cotangent.

## Finds

A gradient that no path of the data connects with `grad_output`.

## Why it matters

It is the derivative, not the gradient: right only while the loss is the plain sum of the outputs, silently wrong in
every network.

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
        return 3 * x**2
```

## Instead

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
        return 3 * x**2 * grad_output
```

## Exceptions

Zero gradients, and constant gradients that are meant (`# pullback: surrogate`; `constant=True` in a pullback rule).

## Fix

Multiply by the incoming gradient.
"""

NAME = "missing-grad-output"
SEVERITY = "error"
