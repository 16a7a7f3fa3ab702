"""Backward changes its cotangent in place.

## Finds

An in-place operation on `grad_output`, a view of it, or an `out=` that is it.

## Why it matters

The tensor belongs to the engine and may be shared with other branches of the graph: their gradients become wrong.

## Example

```python
grad_output.mul_(p)
return grad_output
```

## Instead

```python
return grad_output * p
```

## Exceptions

After `grad_output = grad_output.clone()`.

## Fix

Compute out of place, or clone first.
"""

NAME = "grad-output-mutated"
SEVERITY = "error"
