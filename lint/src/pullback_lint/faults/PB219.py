"""A constant differs between forward and backward.

## Finds

A long literal of forward and one of backward that agree in most of their digits.

## Why it matters

The gradient belongs to another function.

## Example

```python
import torch
import math


class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.special.ndtr(0.7978 * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        z = 0.7987 * x
        return grad_output * 0.7987 * torch.exp(-z * z / 2) / math.sqrt(2 * math.pi)
```

## Instead

```python
import torch
import math

RATE = math.sqrt(2 / math.pi)


class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.special.ndtr(RATE * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        z = RATE * x
        return grad_output * RATE * torch.exp(-z * z / 2) / math.sqrt(2 * math.pi)
```

## Exceptions

Constants that differ on purpose.

## Fix

Give the constant a name and use it in both.
"""

NAME = "constant-mismatch"
SEVERITY = "warning"
