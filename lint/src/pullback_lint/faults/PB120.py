"""Backward uses a name that exists only in forward.

## Finds

A name read in `backward` that is neither a parameter, a local name, a global, nor a builtin, and that `forward`
has.

## Why it matters

A NameError on the first backward pass, often months later, in the rarely used branch.

## Example

```python
import torch


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        return x * scale

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * scale, None
```

## Instead

```python
import torch


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.scale = scale
        return x * scale

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.scale, None
```

## Exceptions

Files with `import *` or `exec` are not judged.

## Fix

Keep it in forward (`ctx.scale = scale`, `save_for_backward` for tensors).
"""

NAME = "undefined-name"
SEVERITY = "error"
