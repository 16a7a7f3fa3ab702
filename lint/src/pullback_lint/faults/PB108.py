"""Tensors inside a list, tuple or dict are inputs of a Function.

## Finds

An input of `forward` that is iterated or indexed as a container of tensors and for which gradients are returned in
a container.

## Why it matters

`apply` looks at its direct arguments only. Tensors in a container are not tracked: their gradient is silently
missing.

## Example

```python
import torch


class Ensemble(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weights, members):
        ctx.save_for_backward(*members)
        return sum(w * m for w, m in zip(weights, members))

    @staticmethod
    def backward(ctx, grad_output):
        members = ctx.saved_tensors
        return None, [grad_output.clone() for _ in members]
```

## Instead

```python
import torch


class Ensemble(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weights, *members):
        ctx.weights = weights
        return sum(w * m for w, m in zip(weights, members))

    @staticmethod
    def backward(ctx, grad_output):
        return None, *(w * grad_output for w in ctx.weights)
```

## Exceptions

Containers of constants.

## Fix

Pass the tensors as separate arguments (`*members`) and return one gradient for each.
"""

NAME = "list-input-untracked"
SEVERITY = "error"
