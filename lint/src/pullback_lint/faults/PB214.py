"""A conjugate is missing in a complex gradient.

## Finds

A transpose or a factor that must be conjugated for complex inputs.

## Why it matters

PyTorch's gradient of a complex function uses the conjugate; without it the direction is wrong.

## Example

```python
gb = torch.linalg.solve(a.transpose(-2, -1), grad_output)
```

## Instead

```python
gb = torch.linalg.solve(a.mH, grad_output)
```

## Exceptions

Functions that only take real tensors.

## Fix

Use `.mH`, `.conj()`.
"""

NAME = "complex-conj"
SEVERITY = "error"
