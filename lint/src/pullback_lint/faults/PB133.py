"""A rule of an in-place Function names the overwritten argument.

## Finds

`@pb.function(inplace="x")` with a rule that takes `x`.

## Why it matters

When backward runs, `x` holds the output.

## Example

```python
import pullback as pb


@pb.function(inplace="x")
def relu_(x):
    return x.clamp_(min=0)


@relu_.grad("x")
def _(g, x):
    return g * (x > 0)
```

## Instead

```python
import pullback as pb


@pb.function(inplace="x")
def relu_(x):
    return x.clamp_(min=0)


@relu_.grad("x")
def _(g, out):
    return g * (out > 0)
```

## Exceptions

None.

## Fix

Use `out`, or keep what is needed with `pb.keep`.
"""

NAME = "inplace-rule-reads-input"
SEVERITY = "error"
