"""The Function has no forward-mode rule.

## Finds

A class without `jvp`.

## Why it matters

`jacfwd`, `hessian`, `torch.func.jvp` and forward AD refuse it.

## Example

```python
import torch


class Torque(torch.autograd.Function):
    @staticmethod
    def forward(theta):
        return torch.sin(theta)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (theta,) = ctx.saved_tensors
        return grad_output * torch.cos(theta)
```

## Instead

```python
import torch


class Torque(torch.autograd.Function):
    @staticmethod
    def forward(theta):
        return torch.sin(theta)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (theta,) = ctx.saved_tensors
        return grad_output * torch.cos(theta)

    @staticmethod
    def jvp(ctx, theta_t):
        (theta,) = ctx.saved_tensors
        return theta_t * torch.cos(theta)
```

## Exceptions

Reverse mode is all that most training needs.

## Fix

Add `jvp`.
"""

NAME = "no-jvp"
SEVERITY = "note"
