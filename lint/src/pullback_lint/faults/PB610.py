"""The formula is right, but the dtype is not precise enough for it.

## Finds

An error in low precision far above that of plain PyTorch in the same dtype.

## Why it matters

Gradients are noise at some inputs.

## Example

```python
return grad_output * (1 - torch.tanh(x) ** 2)
```

## Instead

```python
return grad_output / torch.cosh(x) ** 2
```

## Exceptions

Inputs where plain PyTorch is as bad.

## Fix

Rewrite, or compute in a higher precision.
"""

NAME = "float32-not-enough"
SEVERITY = "warning"
