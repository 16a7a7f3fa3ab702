"""An index into needs_input_grad is out of range or belongs to another input.

## Finds

`ctx.needs_input_grad[i]` with `i` not below the number of inputs, or a gradient guarded by another input's index.

## Why it matters

The gradient is left out for the input that needs it, or computed for one that does not.

## Example

```python
import torch


class Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_output @ weight.t() if ctx.needs_input_grad[1] else None
        grad_weight = x.t() @ grad_output if ctx.needs_input_grad[0] else None
        return grad_x, grad_weight
```

## Instead

```python
import torch


class Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_output @ weight.t() if ctx.needs_input_grad[0] else None
        grad_weight = x.t() @ grad_output if ctx.needs_input_grad[1] else None
        return grad_x, grad_weight
```

## Exceptions

Gradients that share work may be guarded together (`any(ctx.needs_input_grad[:2])`).

## Fix

Use the position of the input in `forward`, without `ctx`.
"""

NAME = "wrong-needs-input-grad-index"
SEVERITY = "error"
