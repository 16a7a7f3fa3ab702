"""A mask used in forward is missing in backward.

## Finds

Elements that forward excludes and backward does not.

## Why it matters

Padded or ignored elements get a gradient.

## Example

```python
loss = (nll * keep).sum() / n
...
return grad_output * g / n, None
```

## Instead

```python
return grad_output * g * keep[:, None] / n, None
```

## Exceptions

None.

## Fix

Apply the mask to the gradient too.
"""

NAME = "mask-not-applied"
SEVERITY = "error"
