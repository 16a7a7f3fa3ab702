"""A constant differs between forward and backward.

## Finds

A long literal of forward and one of backward that agree in most of their digits.

## Why it matters

The gradient belongs to another function.

## Example

```python
y = x * torch.tanh(0.79788456 * x)
...
t = torch.tanh(0.79788458 * x)
```

## Instead

```python
COEFFICIENT = math.sqrt(2 / math.pi)
```

## Exceptions

Constants that differ on purpose.

## Fix

Give the constant a name and use it in both.
"""

NAME = "constant-mismatch"
SEVERITY = "warning"
