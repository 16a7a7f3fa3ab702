"""Backward changes a saved tensor in place.

## Finds

An in-place operation in backward on what comes from `ctx.saved_tensors` or a tensor kept on `ctx`.

## Why it matters

A second backward pass computes with changed values, and other nodes that saved the same tensor do as well. `.data`
hides it from the version check.

## Example

```python
a, b = ctx.saved_tensors
a.data.copy_(grad_a)
```

## Instead

```python
return grad_a, grad_b
```

## Exceptions

Buffers that are fresh in backward.

## Fix

Write to a new tensor.
"""

NAME = "saved-tensor-mutated"
SEVERITY = "error"
