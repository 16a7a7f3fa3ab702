"""An exponential overflows and the gradient becomes NaN.

## Finds

`exp` of an unbounded value in a quotient with itself, such as `e / (1 + e) ** 2`, or `log(1 + exp(x))`.

## Why it matters

exp(89) is infinite in float32; inf / inf is NaN, and one NaN ends the training.

## Example

```python
import torch


class Softplus(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v):
        ctx.save_for_backward(v)
        return torch.nn.functional.softplus(v)

    @staticmethod
    def backward(ctx, grad_output):
        (v,) = ctx.saved_tensors
        e = torch.exp(v)
        return grad_output * e / (1 + e)
```

## Instead

```python
import torch


class Softplus(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v):
        ctx.save_for_backward(v)
        return torch.nn.functional.softplus(v)

    @staticmethod
    def backward(ctx, grad_output):
        (v,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(v)
```

## Exceptions

Arguments that are bounded above: `-x.abs()`, `-x * x`, `x - x.max()`, clamped ones.

## Fix

Use `sigmoid`, `softplus`, `log_softmax`, `logsumexp`. `--unsafe-fixes` does it.
"""

NAME = "exp-overflow-nan"
SEVERITY = "error"
