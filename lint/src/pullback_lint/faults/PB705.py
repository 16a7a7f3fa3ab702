"""Tensors are saved although no gradient needs them.

## Finds

Saving without a look at `ctx.needs_input_grad`.

## Why it matters

Frozen layers keep their activations alive.

## Example

```python
ctx.save_for_backward(x, weight)
```

## Instead

```python
ctx.save_for_backward(x if ctx.needs_input_grad[1] else None, weight)
```

## Exceptions

Small tensors.

## Fix

Save under the condition.
"""

NAME = "saved-for-frozen"
SEVERITY = "note"
