"""A matrix product in backward lacks a transpose.

## Finds

For `y = x @ w`, a gradient `grad_output @ w` instead of `grad_output @ w.t()`.

## Why it matters

With a square matrix shapes agree and nothing raises.

## Example

```python
return grad_output @ w, x.t() @ grad_output
```

## Instead

```python
return grad_output @ w.t(), x.t() @ grad_output
```

## Exceptions

Symmetric matrices.

## Fix

Transpose the other operand.
"""

NAME = "missing-transpose"
SEVERITY = "error"
