"""Saved tensors are unpacked in another order than they were saved.

## Finds

The same names in `save_for_backward` and in the unpacking, in another order.

## Why it matters

Two tensors change places; where their shapes agree the gradient is silently wrong.

## Example

```python
import torch
from mylib import bend, bend_slopes


class Bend(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return bend(x, weight)

    @staticmethod
    def backward(ctx, grad_output):
        weight, x = ctx.saved_tensors
        slope_x, slope_weight = bend_slopes(x, weight)
        return grad_output * slope_x, grad_output * slope_weight
```

## Instead

```python
import torch
from mylib import bend, bend_slopes


class Bend(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return bend(x, weight)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        slope_x, slope_weight = bend_slopes(x, weight)
        return grad_output * slope_x, grad_output * slope_weight
```

## Exceptions

None.

## Fix

Use one order.
"""

NAME = "saved-order-mismatch"
SEVERITY = "warning"
