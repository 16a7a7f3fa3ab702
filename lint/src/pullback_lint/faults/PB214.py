"""A conjugate is missing in a complex gradient.

## Finds

A transpose or a factor that must be conjugated for complex inputs.

## Why it matters

PyTorch's gradient of a complex function uses the conjugate; without it the direction is wrong.

## Example

```python
import torch


class ComplexSolve(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        x = torch.linalg.solve(a, b)
        ctx.save_for_backward(a, x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        a, x = ctx.saved_tensors
        grad_b = torch.linalg.solve(a.transpose(-2, -1), grad_output)
        return -grad_b @ x.mH, grad_b
```

## Instead

```python
import torch


class ComplexSolve(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        x = torch.linalg.solve(a, b)
        ctx.save_for_backward(a, x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        a, x = ctx.saved_tensors
        grad_b = torch.linalg.solve(a.mH, grad_output)
        return -grad_b @ x.mH, grad_b
```

## Exceptions

Functions that only take real tensors.

## Fix

Use `.mH`, `.conj()`.
"""

NAME = "complex-conj"
SEVERITY = "error"
