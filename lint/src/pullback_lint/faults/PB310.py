"""Forward hands something to backward through a global or a class attribute.

## Finds

A module-level container, a global name or an attribute of the class written in forward and read in backward.

## Why it matters

Two calls before one backward: the first gets the second's values.

## Example

```python
_CACHE["idx"] = idx
...
idx = _CACHE["idx"]
```

## Instead

```python
ctx.save_for_backward(idx)
```

## Exceptions

Settings that are never written in forward; counters that backward does not read.

## Fix

Keep it on `ctx`.
"""

NAME = "global-state"
SEVERITY = "error"
