"""Backward takes another number of cotangents than forward has outputs.

## Finds

The parameters of `backward` after `ctx` compared with the tuple that `forward` returns.

## Why it matters

Autograd calls backward with one cotangent per output and gets a TypeError.

## Example

```python
import torch


class Signs(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        sign = x.sign()
        ctx.mark_non_differentiable(sign)
        return x * x, sign

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * grad_output * x
```

## Instead

```python
import torch


class Signs(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        sign = x.sign()
        ctx.mark_non_differentiable(sign)
        return x * x, sign

    @staticmethod
    def backward(ctx, grad_output, _):
        (x,) = ctx.saved_tensors
        return 2 * grad_output * x
```

## Exceptions

`*grad_outputs` takes any number; parameters with defaults may be more than the outputs.

## Fix

Take one cotangent per output.
"""

NAME = "wrong-backward-arity"
SEVERITY = "error"
