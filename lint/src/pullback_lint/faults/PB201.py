"""A gradient does not contain the cotangent.

## Finds

A gradient that no path of the data connects with `grad_output`.

## Why it matters

It is the derivative, not the gradient: right only while the loss is the plain sum of the outputs, silently wrong in
every network.

## Example

```python
return r ** 3, None
```

## Instead

```python
return grad_output * r ** 3, None
```

## Exceptions

Zero gradients, and constant gradients that are meant (`# pullback: surrogate`; `constant=True` in a pullback rule).

## Fix

Multiply by the incoming gradient.
"""

NAME = "missing-grad-output"
SEVERITY = "error"
