"""The second derivative is wrong.

## Finds

Double backward gives other values than the derivative of the gradient.

## Why it matters

Gradient penalties, Hessians and meta-learning train with wrong numbers.

## Example

```python
s = ctx.s                                # a constant for autograd
```

## Instead

```python
s = torch.sigmoid(x)
```

## Exceptions

Functions marked `once_differentiable`, which raise.

## Fix

Compute backward from saved inputs, or mark it `once_differentiable`.
"""

NAME = "second-derivative-wrong"
SEVERITY = "warning"
