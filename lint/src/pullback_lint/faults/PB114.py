"""An autograd.Function has no backward.

## Finds

A class derived from `autograd.Function` that defines `forward` but neither `backward`, `vjp` nor inherits one.

## Why it matters

Its result requires a gradient, and backward raises NotImplementedError.

## Example

```python
import torch


class Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return (x > 0).to(x.dtype)
```

## Instead

```python
import torch


class Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        return None
```

## Exceptions

Functions used only for export (`symbolic`), for forward mode, or for inference.

## Fix

Write `backward`, or use a plain function.
"""

NAME = "no-backward"
SEVERITY = "note"
