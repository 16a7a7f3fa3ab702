"""A surrogate's gradients disagree with each other or with the declared surrogate by a factor or sign.

## Finds

A surrogate that depends on `v - thr` and returns the same sign for both; an area other than declared.

## Why it matters

The threshold moves the wrong way.

## Example

```python
import torch


class Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v, threshold):
        ctx.save_for_backward(v, threshold)
        return (v > threshold).to(v.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        v, threshold = ctx.saved_tensors
        grad = grad_output / (1 + (v - threshold).abs()) ** 2
        return grad, grad.sum_to_size(threshold.shape)
```

## Instead

```python
import torch


class Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v, threshold):
        ctx.save_for_backward(v, threshold)
        return (v > threshold).to(v.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        v, threshold = ctx.saved_tensors
        grad = grad_output / (1 + (v - threshold).abs()) ** 2
        return grad, -grad.sum_to_size(threshold.shape)
```

## Exceptions

A different scale on purpose: declare it.

## Fix

Use the derivative of the declared surrogate.
"""

NAME = "surrogate-scale-wrong"
SEVERITY = "error"
