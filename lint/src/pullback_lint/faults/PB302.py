"""Backward changes a saved tensor in place.

## Finds

An in-place operation in backward on what comes from `ctx.saved_tensors` or a tensor kept on `ctx`.

## Why it matters

A second backward pass computes with changed values, and other nodes that saved the same tensor do as well. `.data`
hides it from the version check.

## Example

```python
import torch


class Gated(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b.exp()

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_a = grad_output * b.exp()
        return grad_a, a.mul_(grad_a)
```

## Instead

```python
import torch


class Gated(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b.exp()

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        grad_a = grad_output * b.exp()
        return grad_a, a * grad_a
```

## Exceptions

Buffers that are fresh in backward.

## Fix

Write to a new tensor.
"""

NAME = "saved-tensor-mutated"
SEVERITY = "error"
