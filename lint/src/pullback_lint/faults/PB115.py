"""Plain autograd gives the same gradient with no more memory or time.

## Finds

A Function whose gradient, memory and speed plain autograd reproduces.

## Why it matters

Code that can be wrong, breaks torch.func and compile, and brings nothing.

## Example

```python
import torch
import pullback as pb


class Wave(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, x * 2)
        return torch.exp(x).sin()

    @staticmethod
    def backward(ctx, grad_output):
        x, _ = ctx.saved_tensors
        return grad_output * torch.exp(x).cos() * torch.exp(x)


pb.check(Wave, torch.randn(3, 4))
```

## Instead

```python
import torch


def wave(x):
    return torch.exp(x).sin()
```

## Exceptions

Functions kept as an example or as a hook for a profiler.

## Fix

Delete the class and call the forward.
"""

NAME = "needless-function"
SEVERITY = "note"
