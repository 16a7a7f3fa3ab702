"""A ctx attribute is set on some paths of forward only.

## Finds

`ctx.name` set inside a condition without a counterpart in the other branch, and read in backward without that
condition.

## Why it matters

An AttributeError in the configuration that nobody tested.

## Example

```python
import torch


class Shift(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bias=None):
        if bias is not None:
            ctx.bias_shape = bias.shape
            x = x + bias
        return x * 1.0

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, grad_output.sum_to_size(ctx.bias_shape)
```

## Instead

```python
import torch


class Shift(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bias=None):
        ctx.bias_shape = None if bias is None else bias.shape
        return x * 1.0 if bias is None else x + bias

    @staticmethod
    def backward(ctx, grad_output):
        shape = ctx.bias_shape
        return grad_output, None if shape is None else grad_output.sum_to_size(shape)
```

## Exceptions

Reads guarded by the same condition or by `hasattr`.

## Fix

Set it on every path.
"""

NAME = "ctx-attribute-conditional"
SEVERITY = "warning"
