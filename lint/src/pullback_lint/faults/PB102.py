"""A gradient has another shape than its input.

## Finds

A gradient whose shape is neither that of the input nor one that sums down to it, such as one number for a vector of
parameters.

## Why it matters

The engine raises, or, where broadcasting happens to fit, gives each entry a wrong share.

## Example

```python
return grad_output * s, (grad_output * dk).sum()
```

## Instead

```python
return grad_output * s, (grad_output * dk).sum_to_size(k.shape)
```

## Exceptions

A gradient with additional leading dimensions is summed by the engine.

## Fix

Sum over exactly the dimensions that broadcasting added: `.sum_to_size(k.shape)`.
"""

NAME = "wrong-grad-shape"
SEVERITY = "error"
