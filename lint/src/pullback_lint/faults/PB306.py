"""An input is kept as an attribute of ctx.

## Finds

`ctx.x = x` for a tensor input, read in backward.

## Why it matters

If it is changed in place between forward and backward, the gradient is silently wrong; `save_for_backward` would
raise. Checkpointing and saved-tensor hooks do not see it.

## Example

```python
ctx.x = x
```

## Instead

```python
ctx.save_for_backward(x)
```

## Exceptions

Plain data: numbers, shapes, flags.

## Fix

Use `save_for_backward`. `--fix` does it.
"""

NAME = "ctx-tensor-stale"
SEVERITY = "error"
