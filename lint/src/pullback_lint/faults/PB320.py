"""A module or callable is an input of a Function.

## Finds

An input of forward that is called like a function or whose parameters are used.

## Why it matters

Its parameters are not tracked: they get no gradient from this node.

## Example

```python
def forward(ctx, x, module): return module(x)
```

## Instead

```python
def forward(ctx, x, *parameters): ...
```

## Exceptions

Checkpoint implementations that differentiate inside backward.

## Fix

Pass the parameters as inputs.
"""

NAME = "module-input-untracked"
SEVERITY = "note"
