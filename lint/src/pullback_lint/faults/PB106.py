"""Forward or backward of an autograd.Function is not a static method.

## Finds

`forward`, `backward`, `setup_context`, `jvp` or `vmap` defined without `@staticmethod`.

## Why it matters

Instances that are called were removed from PyTorch long ago; `apply` on such a class works by accident only and
fails as soon as `self` is used as an object.

## Example

```python
import torch


class Square(torch.autograd.Function):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * grad_output * x
```

## Instead

```python
import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * grad_output * x
```

## Exceptions

`@classmethod` with `cls, ctx` works.

## Fix

Add `@staticmethod` and call the class with `.apply(…)`. `--fix` adds the decorator.
"""

NAME = "legacy-nonstatic"
SEVERITY = "error"
