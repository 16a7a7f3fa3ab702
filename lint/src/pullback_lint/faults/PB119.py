"""The forward of a Function is called directly.

## Finds

`SomeFunction.forward(…)` outside of a class derived from `autograd.Function`.

## Why it matters

No node is made: autograd differentiates through the body, or not at all, and the custom backward never runs.

## Example

```python
y = Square.forward(ctx, x)
```

## Instead

```python
y = Square.apply(x)
```

## Exceptions

Delegation from the forward of another Function, and tests of the bare computation.

## Fix

Use `.apply`.
"""

NAME = "forward-called-directly"
SEVERITY = "warning"
