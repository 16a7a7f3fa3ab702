"""Under autocast, backward mixes dtypes.

## Finds

A matrix product in forward that autocast runs in low precision, whose result meets tensors saved in float32 in
backward, without `custom_fwd` and `custom_bwd`.

## Why it matters

Backward raises for mixed dtypes under automatic mixed precision.

## Example

```python
import torch
from torch.autograd.function import once_differentiable


class Adapter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, a, b):
        h = x @ a
        ctx.save_for_backward(x, a, b, h)
        return h @ b

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        x, a, b, h = ctx.saved_tensors
        need_x, need_a, need_b = ctx.needs_input_grad
        grad_h = grad_output @ b.t()
        grad_x = grad_h @ a.t() if need_x else None
        grad_a = x.t() @ grad_h if need_a else None
        return grad_x, grad_a, h.t() @ grad_output if need_b else None
```

## Instead

```python
import torch
from torch.autograd.function import once_differentiable


class Adapter(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda")
    def forward(ctx, x, a, b):
        h = x @ a
        ctx.save_for_backward(x, a, b, h)
        return h @ b

    @staticmethod
    @once_differentiable
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, grad_output):
        x, a, b, h = ctx.saved_tensors
        need_x, need_a, need_b = ctx.needs_input_grad
        grad_h = grad_output @ b.t()
        grad_x = grad_h @ a.t() if need_x else None
        grad_a = x.t() @ grad_h if need_a else None
        return grad_x, grad_a, h.t() @ grad_output if need_b else None
```

## Exceptions

Elementwise Functions.

## Fix

Use `torch.amp.custom_fwd` and `custom_bwd`, or cast to one dtype.
"""

NAME = "amp-dtype-mismatch"
SEVERITY = "error"
