"""A gradient is made with torch.empty and not filled completely.

## Finds

`empty`, `empty_like`, `new_empty` as a gradient that is only partly assigned.

## Why it matters

Whatever was in memory becomes a gradient; often zeros, sometimes NaN.

## Example

```python
grad = pts.new_empty(pts.shape)
grad[visible] = g
```

## Instead

```python
grad = pts.new_zeros(pts.shape)
grad[visible] = g
```

## Exceptions

Buffers filled by a kernel, `copy_`, `fill_` or a slice of everything.

## Fix

Use `zeros`.
"""

NAME = "uninitialised-grad"
SEVERITY = "error"
