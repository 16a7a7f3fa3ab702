"""A tensor given to mark_dirty is not returned.

## Finds

`ctx.mark_dirty(x)` where no return of forward contains `x`.

## Why it matters

PyTorch raises in some cases and breaks the graph in others.

## Example

```python
ctx.mark_dirty(w)
return torch.round(w)
```

## Instead

```python
return torch.round(w.clamp(-1, 1))
```

## Exceptions

None.

## Fix

Return it, or do not change the input.
"""

NAME = "dirty-not-returned"
SEVERITY = "error"
