"""Two pullback rules serve the same argument.

## Finds

`@f.grad("x")` twice for one Function in one file.

## Why it matters

Only one can be used.

## Example

```python
@f.grad("x")
def _(g): ...
@f.grad("x")
def _(g, x): ...
```

## Instead

```python
@f.grad("x")
def _(g, x): ...
```

## Exceptions

None.

## Fix

Keep one.
"""

NAME = "duplicate-rule"
SEVERITY = "error"
