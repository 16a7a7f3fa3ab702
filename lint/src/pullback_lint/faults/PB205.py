"""A parameter's gradient is summed over the wrong dimensions.

## Finds

A gradient that becomes right when other dimensions are summed.

## Why it matters

Where sizes agree, nothing raises and each channel gets another's gradient.

## Example

```python
grad_slope = (grad_output * x * neg).flatten(0, 1).sum(0)
```

## Instead

```python
grad_slope = (grad_output * x * neg).sum((0, 2))
```

## Exceptions

None.

## Fix

Sum over every dimension that the parameter lacks.
"""

NAME = "wrong-reduction-axis"
SEVERITY = "error"
