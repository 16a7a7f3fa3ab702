"""Something is saved that backward never reads.

## Finds

A tensor in `save_for_backward`, or a tensor kept on `ctx`, that no backward, jvp or vjp reads.

## Why it matters

Memory until backward, for nothing.

## Example

```python
ctx.save_for_backward(x, out)
...
(x, _) = ctx.saved_tensors
```

## Instead

```python
ctx.save_for_backward(x)
```

## Exceptions

None.

## Fix

Do not save it.
"""

NAME = "saved-unused"
SEVERITY = "note"
