"""A conjugate is missing in a complex gradient.

## Finds

A transpose or a factor that must be conjugated for complex inputs.

## Why it matters

PyTorch's gradient of a complex function uses the conjugate; without it the direction is wrong.

## Example

```python
import torch


class ComplexLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, x):
        ctx.save_for_backward(a, x)
        return a @ x

    @staticmethod
    def backward(ctx, grad_output):
        a, x = ctx.saved_tensors
        grad_a = grad_output @ x.mT if ctx.needs_input_grad[0] else None
        grad_x = a.mT @ grad_output if ctx.needs_input_grad[1] else None
        return grad_a, grad_x
```

## Instead

```python
import torch


class ComplexLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, x):
        ctx.save_for_backward(a, x)
        return a @ x

    @staticmethod
    def backward(ctx, grad_output):
        a, x = ctx.saved_tensors
        grad_a = grad_output @ x.mH if ctx.needs_input_grad[0] else None
        grad_x = a.mH @ grad_output if ctx.needs_input_grad[1] else None
        return grad_a, grad_x
```

## Exceptions

Functions that only take real tensors.

## Fix

Use `.mH`, `.conj()`.
"""

NAME = "complex-conj"
SEVERITY = "error"
