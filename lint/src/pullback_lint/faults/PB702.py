"""Something is saved that backward never reads.

## Finds

A tensor in `save_for_backward`, or a tensor kept on `ctx`, that no backward, jvp or vjp reads.

## Why it matters

Memory until backward, for nothing.

## Example

```python
import torch


class Exponential(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        _, y = ctx.saved_tensors
        return grad_output * y
```

## Instead

```python
import torch


class Exponential(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y
```

## Exceptions

None.

## Fix

Do not save it.
"""

NAME = "saved-unused"
SEVERITY = "note"
