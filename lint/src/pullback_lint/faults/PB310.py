"""Forward hands something to backward through a global or a class attribute.

## Finds

A module-level container, a global name or an attribute of the class written in forward and read in backward.

## Why it matters

Two calls before one backward: the first gets the second's values.

## Example

```python
import torch

_CACHE = {}


class Nearest(torch.autograd.Function):
    @staticmethod
    def forward(ctx, points, table):
        index = torch.cdist(points, table).argmin(-1)
        _CACHE["index"] = index
        return table[index]

    @staticmethod
    def backward(ctx, grad_output):
        grad = grad_output.new_zeros(_CACHE["rows"], grad_output.shape[-1])
        return None, grad.index_add(0, _CACHE["index"], grad_output)
```

## Instead

```python
import torch


class Nearest(torch.autograd.Function):
    @staticmethod
    def forward(ctx, points, table):
        index = torch.cdist(points, table).argmin(-1)
        ctx.save_for_backward(index)
        ctx.rows = len(table)
        return table[index]

    @staticmethod
    def backward(ctx, grad_output):
        (index,) = ctx.saved_tensors
        grad = grad_output.new_zeros(ctx.rows, grad_output.shape[-1])
        return None, grad.index_add(0, index, grad_output)
```

## Exceptions

Settings that are never written in forward; counters that backward does not read.

## Fix

Keep it on `ctx`.
"""

NAME = "global-state"
SEVERITY = "error"
