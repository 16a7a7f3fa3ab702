"""Forward changes an input in place without mark_dirty.

## Finds

An in-place operation on an input of `forward` without `ctx.mark_dirty` for it.

## Why it matters

The version counter is not raised in time and history is not rewritten: earlier nodes use overwritten values.

## Example

```python
x[neg] *= slope
return x
```

## Instead

```python
x[neg] *= slope
ctx.mark_dirty(x)
return x
```

## Exceptions

Inputs that are buffers without gradient, and integer tensors, may be changed by contract of the caller.

## Fix

Call `ctx.mark_dirty(x)` and return `x`, or work on a copy.
"""

NAME = "inplace-unmarked"
SEVERITY = "error"
