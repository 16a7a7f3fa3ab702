"""Backward fails when only some inputs need a gradient.

## Finds

Saving or computing under a condition on `needs_input_grad` or `requires_grad`, used in backward without it.

## Why it matters

Freezing one parameter makes training crash.

## Example

```python
if weight.requires_grad:
    ctx.save_for_backward(x)
...
(x,) = ctx.saved_tensors
```

## Instead

```python
ctx.save_for_backward(x if weight.requires_grad else None)
```

## Exceptions

None.

## Fix

Guard saving and use alike.
"""

NAME = "frozen-input-crash"
SEVERITY = "error"
