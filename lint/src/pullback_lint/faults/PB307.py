"""The output is kept as an attribute of ctx.

## Finds

`ctx.y = y` for what forward returns.

## Why it matters

A cycle output → node → ctx → output, which reference counting cannot free: memory grows until the cycle collector
runs.

## Example

```python
import torch


class Exponential(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.y = y
        return y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.y
```

## Instead

```python
import torch


class Exponential(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y
```

## Exceptions

None.

## Fix

Use `save_for_backward`, which breaks the cycle.
"""

NAME = "ctx-output-leak"
SEVERITY = "error"
