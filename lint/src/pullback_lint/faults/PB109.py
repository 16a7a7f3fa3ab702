"""Forward returns a list or a dict of tensors.

## Finds

A `return` of `forward` that is a list or dict display or comprehension.

## Why it matters

Only a tensor or a tuple of tensors becomes part of the graph; tensors in a list or dict come out detached, without
a word.

## Example

```python
import torch


class Halves(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        a, b = x.chunk(2)
        return [a.clone(), b.clone()]

    @staticmethod
    def backward(ctx, grad_a, grad_b):
        return torch.cat((grad_a, grad_b))
```

## Instead

```python
import torch


class Halves(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        a, b = x.chunk(2)
        return a.clone(), b.clone()

    @staticmethod
    def backward(ctx, grad_a, grad_b):
        return torch.cat((grad_a, grad_b))
```

## Exceptions

None.

## Fix

Return a tuple.
"""

NAME = "list-output-untracked"
SEVERITY = "error"
