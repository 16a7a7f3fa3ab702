"""Only one number of the cotangent is used.

## Finds

`grad_output.mean()`, `grad_output.sum()`, `grad_output[0]`, `grad_output.reshape(-1)[0]` or `.item()` as factor of
an elementwise gradient.

## Why it matters

Right for a loss with equal weights; wrong as soon as the elements have weights of their own.

## Example

```python
import torch


class Squared(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.square()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2.0 * x * grad_output.mean()
```

## Instead

```python
import torch


class Squared(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.square()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2.0 * x * grad_output
```

## Exceptions

A sum over dimensions that belong to a broadcast parameter. Functions whose output is a single number.

## Fix

Multiply element by element.
"""

NAME = "grad-output-scalarised"
SEVERITY = "error"
