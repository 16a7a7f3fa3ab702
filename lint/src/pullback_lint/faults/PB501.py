"""A tensor is made on a fixed device.

## Finds

`torch.zeros(shape)` without device, `.cuda()`, `device="cuda"`, `torch.cuda.FloatTensor` in forward or backward.

## Why it matters

Backward fails, or copies silently, when the inputs live on another device.

## Example

```python
grad = torch.zeros(b.shape, dtype=b.dtype)
```

## Instead

```python
grad = torch.zeros_like(b)
```

## Exceptions

Zero-dimensional constants, which mix with any device; Functions that wrap a CPU library.

## Fix

Use `zeros_like`, `new_zeros` or `device=b.device`.
"""

NAME = "hardcoded-device"
SEVERITY = "error"
