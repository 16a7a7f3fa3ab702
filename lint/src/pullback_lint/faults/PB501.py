"""A tensor is made on a fixed device.

## Finds

`torch.zeros(shape)` without device, `.cuda()`, `device="cuda"`, `torch.cuda.FloatTensor` in forward or backward.

## Why it matters

Backward fails, or copies silently, when the inputs live on another device.

## Example

```python
import torch


class Lookup(torch.autograd.Function):
    @staticmethod
    def forward(ctx, table, ids):
        ctx.save_for_backward(ids)
        ctx.shape = table.shape
        return table[ids]

    @staticmethod
    def backward(ctx, grad_output):
        (ids,) = ctx.saved_tensors
        grad = torch.zeros(ctx.shape, dtype=grad_output.dtype)
        return grad.index_add(0, ids, grad_output), None
```

## Instead

```python
import torch


class Lookup(torch.autograd.Function):
    @staticmethod
    def forward(ctx, table, ids):
        ctx.save_for_backward(ids)
        ctx.shape = table.shape
        return table[ids]

    @staticmethod
    def backward(ctx, grad_output):
        (ids,) = ctx.saved_tensors
        grad = grad_output.new_zeros(ctx.shape)
        return grad.index_add(0, ids, grad_output), None
```

## Exceptions

Zero-dimensional constants, which mix with any device; Functions that wrap a CPU library.

## Fix

Use `zeros_like`, `new_zeros` or `device=b.device`.
"""

NAME = "hardcoded-device"
SEVERITY = "error"
