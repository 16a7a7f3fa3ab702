"""Forward does not return anything.

## Finds

A `forward` with no return of a value.

## Why it matters

`apply` gives `None`.

## Example

```python
import torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x * 2

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2
```

## Instead

```python
import torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2
```

## Exceptions

Abstract bases that raise.

## Fix

Return the result.
"""

NAME = "forward-returns-nothing"
SEVERITY = "error"
