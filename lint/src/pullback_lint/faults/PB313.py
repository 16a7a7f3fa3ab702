"""The cotangent is viewed, although its layout is unknown.

## Finds

`grad_output.view(…)` without `contiguous()`.

## Why it matters

Cotangents arrive transposed and expanded (`.sum().backward()` gives stride 0), and `view` raises.

## Example

```python
g = grad_output.view(b, d)
```

## Instead

```python
g = grad_output.reshape(b, d)
```

## Exceptions

`view(dtype)`, `view_as_real`; after `.contiguous()`.

## Fix

Use `reshape`. `--fix` does it.
"""

NAME = "noncontig-view"
SEVERITY = "error"
