"""generate_vmap_rule and vmap are both given.

## Finds

A class with `generate_vmap_rule = True` and a `vmap` method.

## Why it matters

PyTorch raises under vmap.

## Example

```python
import torch


class Double(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return 2 * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output

    @staticmethod
    def vmap(info, in_dims, x):
        return Double.apply(x), in_dims[0]
```

## Instead

```python
import torch


class Double(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return 2 * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output
```

## Exceptions

None.

## Fix

Keep one.
"""

NAME = "both-vmap-rules"
SEVERITY = "error"
