"""Backward leaves autograd without saying so.

## Finds

`no_grad`, `.data`, `.detach()`, `.item()`, NumPy, or an inner `autograd.grad` without `create_graph` in backward,
without `@once_differentiable`.

## Why it matters

A second derivative is silently wrong or zero instead of raising.

## Example

```python
@staticmethod
@torch.no_grad()
def backward(ctx, grad_output): ...
```

## Instead

```python
@staticmethod
@once_differentiable
def backward(ctx, grad_output): ...
```

## Exceptions

Detaching a constant.

## Fix

Use `torch.autograd.function.once_differentiable`, or stay in torch.
"""

NAME = "once-differentiable-missing"
SEVERITY = "warning"
