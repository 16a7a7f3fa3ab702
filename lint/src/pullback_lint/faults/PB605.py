"""A partial function is masked after it was evaluated.

## Finds

`mask * log(x)` or `where(mask, log(x), 0)` in something that is differentiated again, without a safe argument.

## Why it matters

0 * inf is NaN: the masked elements poison the sum.

## Example

```python
import torch


class Entropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, p, live):
        ctx.save_for_backward(p, live)
        safe = torch.where(live, p, torch.ones_like(p))
        return -(p * live * torch.log(safe))

    @staticmethod
    def backward(ctx, grad_output):
        p, live = ctx.saved_tensors
        return -grad_output * live * (torch.log(p) + 1), None
```

## Instead

```python
import torch


class Entropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, p, live):
        ctx.save_for_backward(p, live)
        safe = torch.where(live, p, torch.ones_like(p))
        return -(p * live * torch.log(safe))

    @staticmethod
    def backward(ctx, grad_output):
        p, live = ctx.saved_tensors
        safe = torch.where(live, p, torch.ones_like(p))
        return -grad_output * live * (torch.log(safe) + 1), None
```

## Exceptions

`where` on values in backward that is not differentiated again.

## Fix

Replace the argument where it is masked, then evaluate.
"""

NAME = "masked-nan-leak"
SEVERITY = "error"
