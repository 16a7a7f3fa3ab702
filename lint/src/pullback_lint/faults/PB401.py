"""Backward uses a saved intermediate, so the second derivative is silently wrong.

## Finds

A tensor computed from the inputs in forward, saved, and used in backward, without `once_differentiable`.

## Why it matters

Forward runs without recording: the intermediate is a constant for the second derivative, and its terms are missing
without a word.

## Example

```python
slope = torch.sigmoid(x)
ctx.save_for_backward(slope)
```

## Instead

```python
ctx.save_for_backward(x)                # and slope = torch.sigmoid(x) in backward
```

## Exceptions

Piecewise constant intermediates (masks, indices, signs), outputs, and Functions whose gradient is a surrogate.

## Fix

Recompute it in backward from saved inputs, return it as an output, or mark backward with `@once_differentiable`.
"""

NAME = "double-backward-intermediate"
SEVERITY = "warning"
