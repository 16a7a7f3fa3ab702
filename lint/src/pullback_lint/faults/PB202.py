"""Only one number of the cotangent is used.

## Finds

`grad_output.mean()`, `grad_output.sum()`, `grad_output[0]`, `grad_output.reshape(-1)[0]` or `.item()` as factor of
an elementwise gradient.

## Why it matters

Right for a loss with equal weights; wrong as soon as the elements have weights of their own.

## Example

```python
return 2.0 * d * grad_output.mean()
```

## Instead

```python
return 2.0 * d * grad_output.unsqueeze(-1)
```

## Exceptions

A sum over dimensions that belong to a broadcast parameter. Functions whose output is a single number.

## Fix

Multiply element by element.
"""

NAME = "grad-output-scalarised"
SEVERITY = "error"
