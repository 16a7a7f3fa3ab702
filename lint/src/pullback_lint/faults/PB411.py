"""jvp reads saved tensors that were not saved for forward mode.

## Finds

`ctx.saved_tensors` in `jvp` without `ctx.save_for_forward`.

## Why it matters

The tuple is empty, and forward mode fails.

## Example

```python
import torch


class Sine(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.sin(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.cos(x)

    @staticmethod
    def jvp(ctx, x_t):
        (x,) = ctx.saved_tensors
        return x_t * torch.cos(x)
```

## Instead

```python
import torch


class Sine(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.sin(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.cos(x)

    @staticmethod
    def jvp(ctx, x_t):
        (x,) = ctx.saved_tensors
        return x_t * torch.cos(x)
```

## Exceptions

None.

## Fix

Call `save_for_forward` as well.
"""

NAME = "save-for-forward-missing"
SEVERITY = "error"
