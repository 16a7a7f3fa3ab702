"""The function itself amplifies rounding here.

## Finds

A point where eager PyTorch has no correct digits either.

## Why it matters

Nothing can be measured there.

## Example

```python
torch.linalg.inv(nearly_singular)
```

## Instead

```python
torch.linalg.solve(a, b)
```

## Exceptions

None.

## Fix

Check at another point.
"""

NAME = "ill-conditioned"
SEVERITY = "note"
