"""The cotangent is viewed, although its layout is unknown.

## Finds

`grad_output.view(…)` without `contiguous()`.

## Why it matters

Cotangents arrive transposed and expanded (`.sum().backward()` gives stride 0), and `view` raises.

## Example

```python
import torch


class Flatten(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.reshape(len(x), -1) * 2

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output.view(ctx.shape)
```

## Instead

```python
import torch


class Flatten(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.reshape(len(x), -1) * 2

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output.reshape(ctx.shape)
```

## Exceptions

`view(dtype)`, `view_as_real`; after `.contiguous()`.

## Fix

Use `reshape`. `--fix` does it.
"""

NAME = "noncontig-view"
SEVERITY = "error"
