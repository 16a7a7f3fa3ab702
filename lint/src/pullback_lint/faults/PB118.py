"""A Function is instantiated and called instead of applied.

## Finds

`Square()(x)`, `Square(x)` or an instance kept and called, for a class derived from `autograd.Function`.

## Why it matters

PyTorch refuses it: legacy functions with an instance have been removed.

## Example

```python
y = Square()(x)
```

## Instead

```python
y = Square.apply(x)
```

## Exceptions

None.

## Fix

Use `.apply`.
"""

NAME = "instance-call"
SEVERITY = "error"
