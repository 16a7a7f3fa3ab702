"""Backward averages where forward sums, or the reverse.

## Finds

A division by the number of elements in backward without the condition that forward has.

## Why it matters

The gradient is wrong by a factor that depends on the batch size.

## Example

```python
import torch


class Squares(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, reduction):
        ctx.save_for_backward(x)
        ctx.reduction = reduction
        loss = x * x
        return loss.mean() if reduction == "mean" else loss.sum()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 2 * x / x.numel(), None
```

## Instead

```python
import torch


class Squares(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, reduction):
        ctx.save_for_backward(x)
        ctx.reduction = reduction
        loss = x * x
        return loss.mean() if reduction == "mean" else loss.sum()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad = grad_output * 2 * x
        return grad / x.numel() if ctx.reduction == "mean" else grad, None
```

## Exceptions

None.

## Fix

Divide under the same condition.
"""

NAME = "reduction-mismatch"
SEVERITY = "error"
