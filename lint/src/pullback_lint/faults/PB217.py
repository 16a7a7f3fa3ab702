"""The gate of a straight-through gradient is wrong.

## Finds

A condition that is always true (`x >= lo or x <= hi`), never true, or differs from the range that forward clamps
to.

## Why it matters

Gradients pass where they should not, or are blocked where they should pass.

## Example

```python
inside = torch.logical_or(img >= ctx.lo, img <= ctx.hi)
```

## Instead

```python
inside = torch.logical_and(img >= ctx.lo, img <= ctx.hi)
```

## Exceptions

None.

## Fix

Use `and`.
"""

NAME = "ste-gate-wrong"
SEVERITY = "error"
