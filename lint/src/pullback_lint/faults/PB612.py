"""A derivative of a square root is infinite at zero.

## Finds

`1 / sqrt(x)`, `rsqrt(x)` or a division by `sqrt(…)` in backward of something that can be zero.

## Why it matters

Zero times infinity is NaN.

## Example

```python
return grad_output / (2 * torch.sqrt(x))
```

## Instead

```python
return grad_output / (2 * torch.sqrt(x).clamp_min(eps))
```

## Exceptions

A sum with a positive `eps`.

## Fix

Add `eps`, or handle zero with `where`.
"""

NAME = "sqrt-at-zero"
SEVERITY = "warning"
