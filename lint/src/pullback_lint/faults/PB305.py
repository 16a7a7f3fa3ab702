"""Forward returns an input as it is.

## Finds

`return x` where `x` is an input of forward that was not changed in place.

## Why it matters

The result becomes a view made inside a custom Function: changing it in place afterwards is refused.

## Example

```python
return x
```

## Instead

```python
return x.clone()                # or x.view_as(x), if nothing changes it in place
```

## Exceptions

In-place Functions with `mark_dirty`.

## Fix

Return `x.clone()` if in-place operations may follow, else `x.view_as(x)`.
"""

NAME = "returns-input-view"
SEVERITY = "warning"
