"""A torch.library operator changes an argument that its schema calls unchanged.

## Finds

An in-place operation on a parameter that `mutates_args` does not name.

## Why it matters

compile, functionalisation and autograd trust the schema: silently wrong results.

## Example

```python
@torch.library.custom_op("sig::level", mutates_args=())
def level(sig: torch.Tensor) -> torch.Tensor:
    sig.div_(sig.abs().max())
```

## Instead

```python
    sig = sig / sig.abs().max()
```

## Exceptions

None.

## Fix

Work out of place, or name it in `mutates_args`.
"""

NAME = "custom-op-mutates"
SEVERITY = "error"
