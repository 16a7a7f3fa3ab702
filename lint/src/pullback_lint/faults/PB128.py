"""save_for_backward is called more than once.

## Finds

Two calls of `ctx.save_for_backward` on one path.

## Why it matters

The second call replaces the first: what was saved first is gone.

## Example

```python
ctx.save_for_backward(x)
ctx.save_for_backward(weight)
```

## Instead

```python
ctx.save_for_backward(x, weight)
```

## Exceptions

Calls in different branches.

## Fix

Save everything in one call.
"""

NAME = "saved-twice"
SEVERITY = "error"
