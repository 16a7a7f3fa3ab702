"""A logarithm or reciprocal of something that can be zero.

## Finds

`log(p)` of a probability, without `eps` or clamp, in a loss.

## Why it matters

Minus infinity, and NaN in the gradient.

## Example

```python
return -(t * torch.log(torch.softmax(x, -1)))
```

## Instead

```python
return -(t * torch.log_softmax(x, -1))
```

## Exceptions

Arguments that are clamped.

## Fix

Use the logarithmic form, or clamp.
"""

NAME = "log-near-zero"
SEVERITY = "warning"
