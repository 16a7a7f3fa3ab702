"""A torch.library operator has no fake implementation.

## Finds

A `custom_op` without `register_fake`.

## Why it matters

compile and export cannot trace it.

## Example

```python
import torch


@torch.library.custom_op("sig::count", mutates_args=())
def count(sig: torch.Tensor) -> int:
    return int((sig > 0).sum())
```

## Instead

```python
import torch


@torch.library.custom_op("sig::count", mutates_args=())
def count(sig: torch.Tensor) -> int:
    return int((sig > 0).sum())


@count.register_fake
def _(sig):
    return torch.library.get_ctx().new_dynamic_size()
```

## Exceptions

Operators that are never compiled.

## Fix

Add `register_fake`.
"""

NAME = "custom-op-no-fake"
SEVERITY = "note"
