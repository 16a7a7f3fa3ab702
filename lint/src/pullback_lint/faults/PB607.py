"""A tensor is made with a fixed dtype.

## Finds

`dtype=torch.float32`, `torch.FloatTensor`, `torch.cuda.FloatTensor` for a gradient or a factor of it.

## Why it matters

Half and double inputs change dtype or fail.

## Example

```python
grad = torch.zeros(x.shape, dtype=torch.float32)
```

## Instead

```python
grad = torch.zeros_like(x)
```

## Exceptions

Accumulators in float32 that are cast back.

## Fix

Take the dtype of an input.
"""

NAME = "hardcoded-dtype"
SEVERITY = "warning"
