"""A torch function is named that does not exist.

## Finds

`torch.<name>` for a misspelt or removed name.

## Why it matters

An AttributeError when the line is reached; in backward that is late.

## Example

```python
return torch.zeroes_like(x)
```

## Instead

```python
return torch.zeros_like(x)
```

## Exceptions

Names guarded by `hasattr` or a version check.

## Fix

Use the existing name.
"""

NAME = "unknown-torch-attribute"
SEVERITY = "error"
