"""A torch.library operator has no gradient registered.

## Finds

A `torch.library.custom_op` with floating-point tensors in and out and no `register_autograd`.

## Why it matters

The output claims to require a gradient, and backward raises.

## Example

```python
import torch


@torch.library.custom_op("geo::spread", mutates_args=())
def spread(pts: torch.Tensor) -> torch.Tensor:
    return pts * pts


@spread.register_fake
def _(pts):
    return torch.empty_like(pts)
```

## Instead

```python
import torch


@torch.library.custom_op("geo::spread", mutates_args=())
def spread(pts: torch.Tensor) -> torch.Tensor:
    return pts * pts


@spread.register_fake
def _(pts):
    return torch.empty_like(pts)


def keep(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def backward(ctx, grad_output):
    (pts,) = ctx.saved_tensors
    return 2 * grad_output * pts


spread.register_autograd(backward, setup_context=keep)
```

## Exceptions

Operators that are used for inference, or only inside another operator's backward.

## Fix

Call `register_autograd`.
"""

NAME = "custom-op-no-autograd"
SEVERITY = "warning"
