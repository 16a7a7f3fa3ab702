"""A tensor is made with a fixed dtype.

## Finds

`dtype=torch.float32`, `torch.FloatTensor`, `torch.cuda.FloatTensor` for a gradient or a factor of it.

## Why it matters

Half and double inputs change dtype or fail.

## Example

```python
import torch


class Pad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.n = len(x)
        return torch.cat((x, x))

    @staticmethod
    def backward(ctx, grad_output):
        half = torch.full((ctx.n,), 1.0, dtype=torch.float32, device=grad_output.device)
        return half * (grad_output[: ctx.n] + grad_output[ctx.n :])
```

## Instead

```python
import torch


class Pad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.n = len(x)
        return torch.cat((x, x))

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output[: ctx.n] + grad_output[ctx.n :]
```

## Exceptions

Accumulators in float32 that are cast back.

## Fix

Take the dtype of an input.
"""

NAME = "hardcoded-dtype"
SEVERITY = "warning"
