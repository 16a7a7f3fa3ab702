"""Forward gives other values for a non-contiguous input.

## Finds

An input with other strides and equal values gives another result.

## Why it matters

Silently wrong numbers for transposed and sliced inputs.

## Example

```python
n = x.data_ptr()
```

## Instead

```python
x = x.contiguous()
```

## Exceptions

None.

## Fix

Call `.contiguous()`, or pass the strides.
"""

NAME = "forward-layout-dependent"
SEVERITY = "error"
