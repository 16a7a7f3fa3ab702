"""Memory is read as if it were contiguous.

## Finds

`data_ptr()`, `as_strided`, or a compiled kernel on a cotangent or input without `contiguous()`.

## Why it matters

For an expanded or transposed tensor, another memory is read: silently wrong numbers.

## Example

```python
kernel(grad_output.data_ptr(), n)
```

## Instead

```python
grad_output = grad_output.contiguous()
kernel(grad_output.data_ptr(), n)
```

## Exceptions

Kernels that are given the strides.

## Fix

Call `.contiguous()` first. `--fix` does it.
"""

NAME = "noncontig-raw-memory"
SEVERITY = "error"
