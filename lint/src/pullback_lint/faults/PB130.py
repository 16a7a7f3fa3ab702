"""A pullback rule names something that exists nowhere.

## Finds

A parameter of a `@f.grad(…)` rule that is neither an argument of the forward, nor `out`, nor kept with `pb.keep`;
or a rule for an argument that the forward does not have.

## Why it matters

pullback raises where it can first know; the editor can know earlier.

## Example

```python
import pullback as pb


@pb.function
def quantize(x, step):
    return (x / step).round() * step


@quantize.grad("x", surrogate=True)
def _(g, x, stepp):
    return g * (x.abs() < 128 * stepp)
```

## Instead

```python
import pullback as pb


@pb.function
def quantize(x, step):
    return (x / step).round() * step


@quantize.grad("x", surrogate=True)
def _(g, x, step):
    return g * (x.abs() < 128 * step)
```

## Exceptions

Forwards with `*args` or `**kwargs`.

## Fix

Use a name of the forward, `out`, or a kept name.
"""

NAME = "rule-unknown-name"
SEVERITY = "error"
