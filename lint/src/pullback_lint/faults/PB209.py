"""The cotangent of one output is never used.

## Finds

A parameter of `backward` after the first that nothing reads, although that output depends smoothly on the inputs
and is not marked.

## Why it matters

A loss that uses that output trains with a wrong gradient.

## Example

```python
import torch


class Cell(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, state):
        new = torch.tanh(x + state)
        ctx.save_for_backward(new)
        return 2 * new, new

    @staticmethod
    def backward(ctx, grad_out, grad_new):
        (new,) = ctx.saved_tensors
        grad = 2 * grad_out * (1 - new) * (1 + new)
        return grad, grad
```

## Instead

```python
import torch


class Cell(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, state):
        new = torch.tanh(x + state)
        ctx.save_for_backward(new)
        return 2 * new, new

    @staticmethod
    def backward(ctx, grad_out, grad_new):
        (new,) = ctx.saved_tensors
        grad = (2 * grad_out + grad_new) * (1 - new) * (1 + new)
        return grad, grad
```

## Exceptions

Outputs marked with `mark_non_differentiable`, integer and boolean outputs.

## Fix

Add its part, or mark the output as non-differentiable.
"""

NAME = "second-output-grad-dropped"
SEVERITY = "error"
