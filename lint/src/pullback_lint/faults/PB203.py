"""The gradients of two inputs change places.

## Finds

Gradients returned in another order than forward's inputs, or each computed with its own operand instead of the
other one.

## Why it matters

Shapes often agree, so nothing raises.

## Example

```python
d_den = -grad_output * num / den ** 2
d_num = grad_output / den
return d_den, d_num
```

## Instead

```python
return d_num, d_den
```

## Exceptions

None.

## Fix

Return them in the order of forward's inputs.
"""

NAME = "swapped-gradients"
SEVERITY = "error"
