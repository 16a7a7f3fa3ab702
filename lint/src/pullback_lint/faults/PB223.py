"""Backward is not linear in its cotangent.

## Finds

b(u + v) differs from b(u) + b(v), for instance after clamping or normalising the cotangent.

## Why it matters

A vector-Jacobian product is linear; forward mode, checkpointing of sums and gradient accumulation assume it.

## Example

```python
return grad_output.clamp(-1, 1)
```

## Instead

```python
return grad_output * d
```

## Exceptions

Gradient clipping on purpose.

## Fix

Declare it, or make the formula linear.
"""

NAME = "nonlinear-backward"
SEVERITY = "note"
