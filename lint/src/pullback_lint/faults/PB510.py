"""A torch.library operator has no fake implementation.

## Finds

A `custom_op` without `register_fake`.

## Why it matters

compile and export cannot trace it.

## Example

```python
@torch.library.custom_op("sig::level", mutates_args=())
def level(sig: torch.Tensor) -> torch.Tensor: ...
```

## Instead

```python
@level.register_fake
def _(sig): return sig.new_empty(())
```

## Exceptions

Operators that are never compiled.

## Fix

Add `register_fake`.
"""

NAME = "custom-op-no-fake"
SEVERITY = "note"
