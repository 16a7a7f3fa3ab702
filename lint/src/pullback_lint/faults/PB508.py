"""The Function fails or changes under checkpointing.

## Finds

Another gradient, or an error, under `torch.utils.checkpoint` or saved-tensor hooks.

## Why it matters

Memory is not saved, or the gradient is wrong.

## Example

```python
ctx.mask = mask
```

## Instead

```python
ctx.save_for_backward(mask)
```

## Exceptions

None.

## Fix

Keep tensors with `save_for_backward`.
"""

NAME = "checkpoint-breaks"
SEVERITY = "error"
