"""The batching rule gives other values than a loop, or ignores in_dims.

## Finds

A `vmap` that never reads `in_dims`, or whose result differs from the loop over the batch.

## Why it matters

Silently wrong numbers under `torch.vmap`.

## Example

```python
import torch


class Outer(torch.autograd.Function):
    @staticmethod
    def forward(x, gain):
        return x[:, None] * gain

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        x, gain = ctx.saved_tensors
        return (grad_output * gain).sum(1), (grad_output * x[:, None]).sum(0)

    @staticmethod
    def vmap(info, in_dims, x, gain):
        return torch.einsum("bi,bj->bij", x, gain), 0
```

## Instead

```python
import torch


class Outer(torch.autograd.Function):
    @staticmethod
    def forward(x, gain):
        return x[:, None] * gain

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        x, gain = ctx.saved_tensors
        return (grad_output * gain).sum(1), (grad_output * x[:, None]).sum(0)

    @staticmethod
    def vmap(info, in_dims, x, gain):
        x, gain = (
            item.expand(info.batch_size, *item.shape) if dim is None else item.movedim(dim, 0)
            for item, dim in zip((x, gain), in_dims)
        )
        return torch.einsum("bi,bj->bij", x, gain), 0
```

## Exceptions

None.

## Fix

Move each batch dimension as `in_dims` says, and treat `None`.
"""

NAME = "vmap-rule-wrong"
SEVERITY = "error"
