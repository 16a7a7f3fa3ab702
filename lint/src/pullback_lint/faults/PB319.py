"""A tensor is changed in place after it was saved.

## Finds

An in-place operation in forward on a name given to `save_for_backward` before.

## Why it matters

Backward raises by the version check, or reads the changed value if the change was hidden.

## Example

```python
ctx.save_for_backward(x)
x.mul_(2)
```

## Instead

```python
y = x * 2
```

## Exceptions

The change before saving.

## Fix

Save after the change, or change a copy.
"""

NAME = "saved-before-inplace"
SEVERITY = "error"
