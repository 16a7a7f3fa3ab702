"""A pullback rule names something that exists nowhere.

## Finds

A parameter of a `@f.grad(…)` rule that is neither an argument of the forward, nor `out`, nor kept with `pb.keep`;
or a rule for an argument that the forward does not have.

## Why it matters

pullback raises where it can first know; the editor can know earlier.

## Example

```python
@quantize.grad("step")
def _(g, x, stepp): ...
```

## Instead

```python
@quantize.grad("step")
def _(g, x, step): ...
```

## Exceptions

Forwards with `*args` or `**kwargs`.

## Fix

Use a name of the forward, `out`, or a kept name.
"""

NAME = "rule-unknown-name"
SEVERITY = "error"
