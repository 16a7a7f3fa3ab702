"""A Function is instantiated and called instead of applied.

## Finds

`Square()(x)`, `Square(x)` or an instance kept and called, for a class derived from `autograd.Function`.

## Why it matters

PyTorch refuses it: legacy functions with an instance have been removed.

## Example

```python
import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * grad_output * x


def square(x):
    return Square()(x)
```

## Instead

```python
import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * grad_output * x


def square(x):
    return Square.apply(x)
```

## Exceptions

None.

## Fix

Use `.apply`.
"""

NAME = "instance-call"
SEVERITY = "error"
