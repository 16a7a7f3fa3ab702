"""Gradients are computed for inputs that need none.

## Finds

Two or more gradients that cost something, and `ctx.needs_input_grad` is never read.

## Why it matters

Frozen weights cost as much as trained ones: half the backward of a linear layer.

## Example

```python
import torch


class Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight.t()

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        return grad_output @ weight, grad_output.t() @ x
```

## Instead

```python
import torch


class Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight.t()

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_output @ weight if ctx.needs_input_grad[0] else None
        grad_weight = grad_output.t() @ x if ctx.needs_input_grad[1] else None
        return grad_x, grad_weight
```

## Exceptions

Cheap gradients, or those that share their work.

## Fix

Guard each with `ctx.needs_input_grad[i]`.
"""

NAME = "needs-input-grad-waste"
SEVERITY = "note"
