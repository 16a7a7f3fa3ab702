"""jvp reads saved tensors that were not saved for forward mode.

## Finds

`ctx.saved_tensors` in `jvp` without `ctx.save_for_forward`.

## Why it matters

The tuple is empty, and forward mode fails.

## Example

```python
ctx.save_for_backward(x)
```

## Instead

```python
ctx.save_for_backward(x)
ctx.save_for_forward(x)
```

## Exceptions

None.

## Fix

Call `save_for_forward` as well.
"""

NAME = "save-for-forward-missing"
SEVERITY = "error"
