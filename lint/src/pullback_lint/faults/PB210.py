"""A mean, variance or norm is treated as a constant in backward.

## Finds

A normalising statistic computed from the input in forward whose own derivative is missing.

## Why it matters

The gradient lacks the terms that keep normalisation stable.

## Example

```python
return grad_output * gain * inv
```

## Instead

```python
w = grad_output * gain
return inv * (w - xhat * (w * xhat).mean(-1, keepdim=True))
```

## Exceptions

Running statistics; a deliberate stop-gradient.

## Fix

Add the derivative of the statistic.
"""

NAME = "statistic-treated-constant"
SEVERITY = "error"
