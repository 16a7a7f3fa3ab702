"""mark_non_differentiable gets a tensor that forward does not return.

## Finds

A call of `ctx.mark_non_differentiable` on a new expression or on a name that no return contains.

## Why it matters

The mark has no effect: it goes by identity of the returned tensor.

## Example

```python
ctx.mark_non_differentiable(idx.clone())
return v, idx
```

## Instead

```python
ctx.mark_non_differentiable(idx)
return v, idx
```

## Exceptions

None.

## Fix

Mark the very object that is returned.
"""

NAME = "nondiff-mark-fresh"
SEVERITY = "warning"
