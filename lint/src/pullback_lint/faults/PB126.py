"""A ctx attribute is set on some paths of forward only.

## Finds

`ctx.name` set inside a condition without a counterpart in the other branch, and read in backward without that
condition.

## Why it matters

An AttributeError in the configuration that nobody tested.

## Example

```python
if bias is not None:
    ctx.bias_shape = bias.shape
```

## Instead

```python
ctx.bias_shape = None if bias is None else bias.shape
```

## Exceptions

Reads guarded by the same condition or by `hasattr`.

## Fix

Set it on every path.
"""

NAME = "ctx-attribute-conditional"
SEVERITY = "warning"
