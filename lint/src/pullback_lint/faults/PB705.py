"""Tensors are saved although no gradient needs them.

## Finds

Saving without a look at `ctx.needs_input_grad`.

## Why it matters

Frozen layers keep their activations alive.

## Example

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
        grad_x = grad_output * weight if ctx.needs_input_grad[0] else None
        grad_weight = grad_output * x if ctx.needs_input_grad[1] else None
        return grad_x, grad_weight
```

## Instead

```python
import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        need_x, need_weight = ctx.needs_input_grad
        ctx.save_for_backward(x if need_weight else None, weight if need_x else None)
        return x * weight

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_output * weight if ctx.needs_input_grad[0] else None
        grad_weight = grad_output * x if ctx.needs_input_grad[1] else None
        return grad_x, grad_weight
```

## Exceptions

Small tensors.

## Fix

Save under the condition.
"""

NAME = "saved-for-frozen"
SEVERITY = "note"
