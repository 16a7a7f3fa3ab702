"""A torch.library operator returns one of its arguments.

## Finds

`return x` of a parameter in a `custom_op`.

## Why it matters

An operator must not return an alias; compile goes wrong silently.

## Example

```python
import torch


@torch.library.custom_op("act::same", mutates_args=())
def same(x: torch.Tensor) -> torch.Tensor:
    return x


@same.register_fake
def _(x):
    return torch.empty_like(x)


@same.register_autograd
def _(ctx, grad_output):
    return grad_output
```

## Instead

```python
import torch


@torch.library.custom_op("act::same", mutates_args=())
def same(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


@same.register_fake
def _(x):
    return torch.empty_like(x)


def backward(ctx, grad_output):
    return grad_output


same.register_autograd(backward)
```

## Exceptions

None.

## Fix

Return a copy.
"""

NAME = "custom-op-aliases-input"
SEVERITY = "error"
