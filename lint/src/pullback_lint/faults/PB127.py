"""Backward fails when only some inputs need a gradient.

## Finds

Saving or computing under a condition on `needs_input_grad` or `requires_grad`, used in backward without it.

## Why it matters

Freezing one parameter makes training crash.

## Example

```python
import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        if weight.requires_grad:
            ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        return grad_output * weight, grad_output * x
```

## Instead

```python
import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        return grad_output * weight, grad_output * x
```

## Exceptions

None.

## Fix

Guard saving and use alike.
"""

NAME = "frozen-input-crash"
SEVERITY = "error"
