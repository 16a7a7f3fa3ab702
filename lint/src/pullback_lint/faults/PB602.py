"""A difference of nearly equal numbers loses all digits.

## Finds

`1 - tanh(x) ** 2`, `y + 1` for an exponential saturation, `exp(x) - 1`, `log(1 + x)`, `1 - cos(x)`.

## Why it matters

The gradient becomes exactly zero, or noise, where the true value is small but not zero.

## Example

```python
import torch


class Elu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.where(x > 0, x, torch.expm1(x))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * torch.where(y > 0, 1.0, y + 1.0)
```

## Instead

```python
import torch


class Elu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x > 0, x, torch.expm1(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.where(x > 0, 1.0, torch.exp(x))
```

## Exceptions

Where the small value does not matter.

## Fix

Use the form without the difference: `expm1`, `log1p`, `1 / cosh(x) ** 2`, the input instead of the output.
"""

NAME = "float32-cancellation"
SEVERITY = "error"
