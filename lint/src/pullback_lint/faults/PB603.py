"""An intermediate value leaves the range of float16.

## Finds

A reciprocal of a square, a square or a product that overflows in half precision although the result is
representable.

## Why it matters

Infinity or zero instead of a gradient under half precision.

## Example

```python
inv = 1.0 / (dx * dx + dy * dy)
return grad_output * dx * inv
```

## Instead

```python
r = torch.hypot(dx, dy)
return grad_output * (dx / r) / r
```

## Exceptions

Functions that compute in float32.

## Fix

Divide in two steps, or compute in float32.
"""

NAME = "fp16-overflow"
SEVERITY = "error"
