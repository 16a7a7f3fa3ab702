"""Tensors inside a list, tuple or dict are inputs of a Function.

## Finds

An input of `forward` that is iterated or indexed as a container of tensors and for which gradients are returned in
a container.

## Why it matters

`apply` looks at its direct arguments only. Tensors in a container are not tracked: their gradient is silently
missing.

## Example

```python
def forward(ctx, members, weights):
    return sum(w * m for w, m in zip(weights, members))
```

## Instead

```python
def forward(ctx, weights, *members):
    return sum(w * m for w, m in zip(weights, members))
```

## Exceptions

Containers of constants.

## Fix

Pass the tensors as separate arguments (`*members`) and return one gradient for each.
"""

NAME = "list-input-untracked"
SEVERITY = "error"
