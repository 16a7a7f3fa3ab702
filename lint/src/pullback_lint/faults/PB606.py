"""Backward computes in a lower precision than its input has.

## Finds

`.float()`, `.half()`, `.to(torch.float32)` on the cotangent or a saved tensor without a return to its dtype.

## Why it matters

A float64 gradient with seven digits; the engine casts it back without a word.

## Example

```python
import torch


class Gravity(torch.autograd.Function):
    @staticmethod
    def forward(ctx, r):
        ctx.save_for_backward(r)
        return -1 / r

    @staticmethod
    def backward(ctx, grad_output):
        (r,) = ctx.saved_tensors
        r = r.float()
        return grad_output.float() / (r * r)
```

## Instead

```python
import torch


class Gravity(torch.autograd.Function):
    @staticmethod
    def forward(ctx, r):
        ctx.save_for_backward(r)
        return -1 / r

    @staticmethod
    def backward(ctx, grad_output):
        (r,) = ctx.saved_tensors
        return grad_output / r / r
```

## Exceptions

Computing half precision in float32 and casting back.

## Fix

Stay in the input's dtype, or cast up only.
"""

NAME = "precision-downcast"
SEVERITY = "error"
