"""The gradient is not the derivative of the forward.

## Finds

A formula that differs from the derivative: a lost factor, a sign, a missing product term, the output used for the
input.

## Why it matters

Training runs, slower and to another place.

## Example

```python
grad_r = grad_output * 2 * depth * a * (1 - e)
```

## Instead

```python
grad_r = grad_output * 2 * depth * a * (1 - e) * e
```

## Exceptions

A gradient that is meant to differ: declare it (`# pullback: surrogate`, `intended=`).

## Fix

Use the formula that the report prints.
"""

NAME = "wrong-derivative"
SEVERITY = "error"
