"""Saved tensors are unpacked in another order than they were saved.

## Finds

The same names in `save_for_backward` and in the unpacking, in another order.

## Why it matters

Two tensors change places; where their shapes agree the gradient is silently wrong.

## Example

```python
ctx.save_for_backward(x, weight)
...
weight, x = ctx.saved_tensors
```

## Instead

```python
x, weight = ctx.saved_tensors
```

## Exceptions

None.

## Fix

Use one order.
"""

NAME = "saved-order-mismatch"
SEVERITY = "warning"
