"""Backward waits for the device.

## Finds

`.item()`, `.cpu()`, `.tolist()`, `.numpy()`, `bool(tensor)` in backward.

## Why it matters

The queue of the accelerator drains at each call, and compile breaks the graph.

## Example

```python
import torch
from torch.autograd.function import once_differentiable


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        scale = grad_output.abs().max().item()
        return 2 * grad_output.clamp(-scale, scale)
```

## Instead

```python
import torch
from torch.autograd.function import once_differentiable


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        scale = grad_output.abs().max()
        return 2 * grad_output.clamp(-scale, scale)
```

## Exceptions

Functions that wrap a CPU library.

## Fix

Stay on the device.
"""

NAME = "sync-in-backward"
SEVERITY = "note"
