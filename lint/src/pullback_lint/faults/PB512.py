"""The same call gives different results.

## Finds

Two calls with equal inputs and generator state that differ.

## Why it matters

Gradients cannot be reproduced, and recomputation gives other values.

## Example

```python
import torch


class Scatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, index):
        ctx.save_for_backward(index)
        out = torch.zeros_like(x)
        out[index] = x
        return out

    @staticmethod
    def backward(ctx, grad_output):
        (index,) = ctx.saved_tensors
        return grad_output[index], None
```

## Instead

```python
import torch


class Scatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, index):
        ctx.save_for_backward(index)
        return torch.zeros_like(x).index_add(0, index, x)

    @staticmethod
    def backward(ctx, grad_output):
        (index,) = ctx.saved_tensors
        return grad_output[index], None
```

## Exceptions

Atomic additions on an accelerator.

## Fix

Save what was drawn.
"""

NAME = "not-deterministic"
SEVERITY = "warning"
