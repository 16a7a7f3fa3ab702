"""Forward returns a list or a dict of tensors.

## Finds

A `return` of `forward` that is a list or dict display or comprehension.

## Why it matters

Only a tensor or a tuple of tensors becomes part of the graph; tensors in a list or dict come out detached, without
a word.

## Example

```python
return [a, b]
```

## Instead

```python
return a, b
```

## Exceptions

None.

## Fix

Return a tuple.
"""

NAME = "list-output-untracked"
SEVERITY = "error"
