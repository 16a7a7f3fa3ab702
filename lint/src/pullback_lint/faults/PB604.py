"""The gradient is NaN or infinite at a point where the function is fine.

## Finds

A division by a norm, a square root, an absolute value or a difference that is zero there.

## Why it matters

One zero vector in a batch makes every parameter NaN.

## Example

```python
u = rv / rv.norm(dim=-1, keepdim=True)
```

## Instead

```python
n = rv.norm(dim=-1, keepdim=True)
u = rv / torch.where(n == 0, torch.ones_like(n), n)
```

## Exceptions

Inputs that cannot be zero.

## Fix

Divide by a safe value (`where`, `clamp_min`).
"""

NAME = "nan-at-kink"
SEVERITY = "error"
