"""Backward raises.

## Finds

A backward that raises an error of its own when it is run; only the checker can see it.

## Why it matters

Nothing upstream can be trained. Often it shows only for some shapes, dtypes or branches.

## Example

```python
import torch
import pullback as pb


class Weigh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * grad_output @ x


pb.check(Weigh, torch.randn(3, 4))
```

## Instead

```python
import torch
import pullback as pb


class Weigh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * grad_output * x


pb.check(Weigh, torch.randn(3, 4))
```

## Exceptions

A backward that raises on purpose, to say that there is no gradient.

## Fix

Read the error that is reported and mend the line it comes from.
"""

NAME = "backward-raises"
SEVERITY = "error"
