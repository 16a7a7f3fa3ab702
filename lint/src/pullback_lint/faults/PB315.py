"""Backward draws random numbers anew.

## Finds

`rand`, `bernoulli`, `dropout` and the like in backward without restoring the generator's state.

## Why it matters

Backward uses another mask than forward did.

## Example

```python
import torch


class Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, keep: float):
        ctx.keep = keep
        return x * (torch.rand_like(x) < keep)

    @staticmethod
    def backward(ctx, grad_output):
        mask = torch.rand_like(grad_output) < ctx.keep
        return grad_output * mask, None
```

## Instead

```python
import torch


class Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, keep: float):
        mask = torch.rand_like(x) < keep
        ctx.save_for_backward(mask)
        return x * mask

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return grad_output * mask, None
```

## Exceptions

Stochastic rounding of the gradient and noise on purpose; recomputation under a restored state.

## Fix

Save the mask or the generator state.
"""

NAME = "rng-not-saved"
SEVERITY = "error"
