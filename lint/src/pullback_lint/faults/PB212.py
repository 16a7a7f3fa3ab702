"""Gradients of repeated indices overwrite each other.

## Finds

`grad[idx] = …` or `grad[idx] += …` with an index tensor, where forward gathers with the same index.

## Why it matters

Indexed assignment keeps the last value, and `+=` with indices adds once: an entry used k times must collect k
gradients.

## Example

```python
grad = grad_output.new_zeros(ctx.shape)
grad[ids] = grad_output
```

## Instead

```python
grad.index_add_(0, ids, grad_output)
```

## Exceptions

Boolean masks, and indices that cannot repeat (`topk`, `sort`, `max` with a single dimension).

## Fix

Use `index_add_`, `index_put_(…, accumulate=True)` or `scatter_add_`.
"""

NAME = "duplicate-index-overwrite"
SEVERITY = "error"
