"""Backward averages where forward sums, or the reverse.

## Finds

A division by the number of elements in backward without the condition that forward has.

## Why it matters

The gradient is wrong by a factor that depends on the batch size.

## Example

```python
loss = l.mean() if reduction == "mean" else l.sum()
...
return grad_output * d / d.numel()
```

## Instead

```python
return grad_output * (d / d.numel() if ctx.reduction == "mean" else d)
```

## Exceptions

None.

## Fix

Divide under the same condition.
"""

NAME = "reduction-mismatch"
SEVERITY = "error"
