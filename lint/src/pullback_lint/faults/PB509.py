"""A torch.library operator changes an argument that its schema calls unchanged.

## Finds

An in-place operation on a parameter that `mutates_args` does not name.

## Why it matters

compile, functionalisation and autograd trust the schema: silently wrong results.

## Example

```python
import torch


@torch.library.custom_op("sig::half", mutates_args=())
def half(sig: torch.Tensor) -> torch.Tensor:
    sig.div_(2)
    return sig.clone()


@half.register_fake
def _(sig):
    return torch.empty_like(sig)


def backward(ctx, grad_output):
    return grad_output / 2


half.register_autograd(backward)
```

## Instead

```python
import torch


@torch.library.custom_op("sig::half", mutates_args=())
def half(sig: torch.Tensor) -> torch.Tensor:
    return sig / 2


@half.register_fake
def _(sig):
    return torch.empty_like(sig)


def backward(ctx, grad_output):
    return grad_output / 2


half.register_autograd(backward)
```

## Exceptions

None.

## Fix

Work out of place, or name it in `mutates_args`.
"""

NAME = "custom-op-mutates"
SEVERITY = "error"
