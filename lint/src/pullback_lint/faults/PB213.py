"""A matrix product in backward lacks a transpose.

## Finds

For `y = x @ w`, a gradient `grad_output @ w` instead of `grad_output @ w.t()`.

## Why it matters

With a square matrix shapes agree and nothing raises.

## Example

```python
import torch


class Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        grad_x = grad_output @ w if ctx.needs_input_grad[0] else None
        grad_w = x.t() @ grad_output if ctx.needs_input_grad[1] else None
        return grad_x, grad_w
```

## Instead

```python
import torch


class Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        grad_x = grad_output @ w.t() if ctx.needs_input_grad[0] else None
        grad_w = x.t() @ grad_output if ctx.needs_input_grad[1] else None
        return grad_x, grad_w
```

## Exceptions

Symmetric matrices.

## Fix

Transpose the other operand.
"""

NAME = "missing-transpose"
SEVERITY = "error"
