"""Gradients of repeated indices overwrite each other.

## Finds

`grad[idx] = …` or `grad[idx] += …` with an index tensor, where forward gathers with the same index.

## Why it matters

Indexed assignment keeps the last value, and `+=` with indices adds once: an entry used k times must collect k
gradients.

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
        grad = grad_output.new_zeros(ctx.shape)
        grad[ids] = grad_output
        return grad, None
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

Boolean masks, and indices that cannot repeat (`topk`, `sort`, `max` with a single dimension).

## Fix

Use `index_add_`, `index_put_(…, accumulate=True)` or `scatter_add_`.
"""

NAME = "duplicate-index-overwrite"
SEVERITY = "error"
