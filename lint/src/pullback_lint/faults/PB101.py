"""Backward returns another number of gradients than forward has inputs.

## Finds

A return of `backward` whose number of values differs from the number of inputs of `forward`, or no return at all.

## Why it matters

Autograd hands out gradients by position. Too few raise on the first backward pass; values beyond the inputs raise
unless they are `None`.

## Example

```python
import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.factor
```

## Instead

```python
import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.factor, None
```

## Exceptions

Additional trailing `None` values are legal. Inputs with defaults that no call passes need no gradient.

## Fix

Return one value per input of `forward`, in order; `None` for those that take no gradient. `--fix` adds or removes
`None`.
"""

NAME = "wrong-grad-count"
SEVERITY = "error"
