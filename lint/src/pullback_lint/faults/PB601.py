"""An exponential overflows and the gradient becomes NaN.

## Finds

`exp` of an unbounded value in a quotient with itself, such as `e / (1 + e) ** 2`, or `log(1 + exp(x))`.

## Why it matters

exp(89) is infinite in float32; inf / inf is NaN, and one NaN ends the training.

## Example

```python
e = torch.exp(-slope * v)
return grad_output * slope * e / (1 + e) ** 2
```

## Instead

```python
s = torch.sigmoid(slope * v)
return grad_output * slope * s * (1 - s)
```

## Exceptions

Arguments that are bounded above: `-x.abs()`, `-x * x`, `x - x.max()`, clamped ones.

## Fix

Use `sigmoid`, `softplus`, `log_softmax`, `logsumexp`. `--unsafe-fixes` does it.
"""

NAME = "exp-overflow-nan"
SEVERITY = "error"
