"""A gradient has another shape than its input.

## Finds

A gradient whose shape is neither that of the input nor one that sums down to it, such as one number for a vector of
parameters.

## Why it matters

The engine raises, or, where broadcasting happens to fit, gives each entry a wrong share.

## Example

```python
import torch
import pullback as pb


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x, slope)
        return x * slope

    @staticmethod
    def backward(ctx, grad_output):
        x, slope = ctx.saved_tensors
        return grad_output * slope, (grad_output * x).sum()


pb.check(Scale, torch.randn(3, 4), torch.rand(4) + 1)
```

## Instead

```python
import torch
import pullback as pb


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x, slope)
        return x * slope

    @staticmethod
    def backward(ctx, grad_output):
        x, slope = ctx.saved_tensors
        return grad_output * slope, (grad_output * x).sum_to_size(slope.shape)


pb.check(Scale, torch.randn(3, 4), torch.rand(4) + 1)
```

## Exceptions

A gradient with additional leading dimensions is summed by the engine.

## Fix

Sum over exactly the dimensions that broadcasting added: `.sum_to_size(k.shape)`.
"""

NAME = "wrong-grad-shape"
SEVERITY = "error"
