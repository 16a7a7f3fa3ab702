"""An output that depends smoothly on an input is marked as non-differentiable.

## Finds

`ctx.mark_non_differentiable(y)` where `y` is computed from an input by differentiable operations.

## Why it matters

Whoever uses that output gets no gradient through it, silently.

## Example

```python
scale = x.abs().amax(-1, keepdim=True)
ctx.mark_non_differentiable(scale)
return x / scale, scale
```

## Instead

```python
scale = x.abs().amax(-1, keepdim=True)
return x / scale, scale      # and add its cotangent in backward
```

## Exceptions

Indices, masks, counts and other piecewise constant outputs. Outputs declared as mere statistics on purpose.

## Fix

Leave it differentiable and add its gradient, or return `scale.detach()` from the caller, where it is seen.
"""

NAME = "nondiff-mark-wrong"
SEVERITY = "error"
