"""A parameter's gradient is summed over the wrong dimensions.

## Finds

A gradient that becomes right when other dimensions are summed.

## Why it matters

Where sizes agree, nothing raises and each channel gets another's gradient.

## Example

```python
import torch
import pullback as pb


class Prelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x, slope)
        return torch.where(x > 0, x, slope[:, None] * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, slope = ctx.saved_tensors
        low = x <= 0
        grad_slope = (grad_output * x * low).sum((0, 1))
        return grad_output * torch.where(low, slope[:, None], 1.0), grad_slope


pb.check(Prelu, torch.randn(2, 3, 3), torch.rand(3))
```

## Instead

```python
import torch
import pullback as pb


class Prelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x, slope)
        return torch.where(x > 0, x, slope[:, None] * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, slope = ctx.saved_tensors
        low = x <= 0
        grad_slope = (grad_output * x * low).sum((0, 2))
        return grad_output * torch.where(low, slope[:, None], 1.0), grad_slope


pb.check(Prelu, torch.randn(2, 3, 3), torch.rand(3))
```

## Exceptions

None.

## Fix

Sum over every dimension that the parameter lacks.
"""

NAME = "wrong-reduction-axis"
SEVERITY = "error"
