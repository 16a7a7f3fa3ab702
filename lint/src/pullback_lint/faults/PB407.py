"""The batching rule gives other values than a loop, or ignores in_dims.

## Finds

A `vmap` that never reads `in_dims`, or whose result differs from the loop over the batch.

## Why it matters

Silently wrong numbers under `torch.vmap`.

## Example

```python
def vmap(info, in_dims, x, gain):
    return Outer.apply(x, gain), 0
```

## Instead

```python
def vmap(info, in_dims, x, gain):
    x, gain = (t if d is None else t.movedim(d, 0) for t, d in zip((x, gain), in_dims))
    return Outer.apply(x, gain), 0
```

## Exceptions

None.

## Fix

Move each batch dimension as `in_dims` says, and treat `None`.
"""

NAME = "vmap-rule-wrong"
SEVERITY = "error"
