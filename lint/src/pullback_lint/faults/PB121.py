"""A torch function is named that does not exist.

## Finds

`torch.<name>` for a misspelt or removed name.

## Why it matters

An AttributeError when the line is reached; in backward that is late.

## Example

```python
import torch


class Stop(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return torch.zeroes_like(grad_output)
```

## Instead

```python
import torch


class Stop(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return torch.zeros_like(grad_output)
```

## Exceptions

Names guarded by `hasattr` or a version check.

## Fix

Use the existing name.
"""

NAME = "unknown-torch-attribute"
SEVERITY = "error"
