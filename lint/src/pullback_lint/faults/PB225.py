"""The gradient of a broadcast input is not summed down.

## Finds

A gradient with the shape of the output for an input that was broadcast, in a stack that does not sum it.

## Why it matters

Eager sums it silently; other stacks raise or go on with the wrong shape.

## Example

```python
import torch


class Shift(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bias):
        return x + bias

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, grad_output
```

## Instead

```python
import torch


class Shift(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bias):
        ctx.shape = bias.shape
        return x + bias

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, grad_output.sum_to_size(ctx.shape)
```

## Exceptions

Eager mode alone.

## Fix

Use `.sum_to_size(…)`.
"""

NAME = "broadcast-not-reduced"
SEVERITY = "warning"
