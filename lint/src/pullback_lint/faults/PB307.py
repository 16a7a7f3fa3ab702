"""The output is kept as an attribute of ctx.

## Finds

`ctx.y = y` for what forward returns.

## Why it matters

A cycle output → node → ctx → output, which reference counting cannot free: memory grows until the cycle collector
runs.

## Example

```python
ctx.y = y
return y
```

## Instead

```python
ctx.save_for_backward(y)
return y
```

## Exceptions

None.

## Fix

Use `save_for_backward`, which breaks the cycle.
"""

NAME = "ctx-output-leak"
SEVERITY = "error"
