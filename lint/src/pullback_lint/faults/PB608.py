"""The gradient is NaN or infinite for large or small inputs.

## Finds

A gradient that is not finite at an input where the true one is.

## Why it matters

One extreme activation makes every parameter NaN.

## Example

```python
return grad_output * torch.exp(x) / (1 + torch.exp(x))
```

## Instead

```python
return grad_output * torch.sigmoid(x)
```

## Exceptions

Where the true gradient is not finite.

## Fix

Use the stable form that the report prints.
"""

NAME = "nonfinite-at-extreme"
SEVERITY = "error"
