"""The Function has neither vmap nor generate_vmap_rule.

## Finds

A class with `setup_context` but without a batching rule.

## Why it matters

`torch.vmap` refuses it.

## Example

```python
import torch


class Spring(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * grad_output * x
```

## Instead

```python
import torch


class Spring(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * grad_output * x
```

## Exceptions

Functions whose body is not made of PyTorch operations need a `vmap` of their own.

## Fix

Set `generate_vmap_rule = True`, or write `vmap`.
"""

NAME = "no-vmap"
SEVERITY = "note"
