"""The gradient is a surrogate: forward is locally constant and backward is not zero.

## Finds

Forward is piecewise constant and backward gives a gradient.

## Why it matters

Nothing is wrong; values cannot be compared with a derivative, and the report says so.

## Example

```python
def forward(ctx, x): return (x > 0).to(x.dtype)
def backward(ctx, g): return g * window(x)
```

## Instead

```python
spike = pb.surrogate(step, like=torch.sigmoid)
```

## Exceptions

A declared intention is compared.

## Fix

Declare the intention, so that it can be checked.
"""

NAME = "surrogate-gradient"
SEVERITY = "note"
