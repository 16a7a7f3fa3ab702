"""A tensor given to mark_dirty is not returned.

## Finds

`ctx.mark_dirty(x)` where no return of forward contains `x`.

## Why it matters

PyTorch raises in some cases and breaks the graph in others.

## Example

```python
import torch


class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, w):
        w.clamp_(-1, 1)
        ctx.mark_dirty(w)
        return torch.round(w)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output
```

## Instead

```python
import torch


class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, w):
        return torch.round(w.clamp(-1, 1))

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output
```

## Exceptions

None.

## Fix

Return it, or do not change the input.
"""

NAME = "dirty-not-returned"
SEVERITY = "error"
