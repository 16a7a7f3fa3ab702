"""More is kept for backward than the gradient needs.

## Finds

Residuals in bytes above the lossless minimum: a float mask, input and output both, an unused input.

## Why it matters

Memory is what limits the batch.

## Example

```python
ctx.save_for_backward(x, x > 0, torch.relu(x))
```

## Instead

```python
ctx.save_for_backward(x > 0)
```

## Exceptions

Where recomputation is dear.

## Fix

Keep what the report lists.
"""

NAME = "saves-more-than-needed"
SEVERITY = "note"
