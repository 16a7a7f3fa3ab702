"""An input is kept as an attribute of ctx.

## Finds

`ctx.x = x` for a tensor input, read in backward.

## Why it matters

If it is changed in place between forward and backward, the gradient is silently wrong; `save_for_backward` would
raise. Checkpointing and saved-tensor hooks do not see it.

## Example

```python
import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output * ctx.x
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

Plain data: numbers, shapes, flags.

## Fix

Use `save_for_backward`. `--fix` does it.
"""

NAME = "ctx-tensor-stale"
SEVERITY = "error"
