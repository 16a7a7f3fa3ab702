"""Two pullback rules serve the same argument.

## Finds

`@f.grad("x")` twice for one Function in one file.

## Why it matters

Only one can be used.

## Example

```python
import pullback as pb


@pb.function
def double(x):
    return 2 * x


@double.grad("x")
def _(g):
    return g


@double.grad("x")
def _(g):
    return 2 * g
```

## Instead

```python
import pullback as pb


@pb.function
def double(x):
    return 2 * x


@double.grad("x")
def _(g):
    return 2 * g
```

## Exceptions

None.

## Fix

Keep one.
"""

NAME = "duplicate-rule"
SEVERITY = "error"
