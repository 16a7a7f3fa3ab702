"""generate_vmap_rule and vmap are both given.

## Finds

A class with `generate_vmap_rule = True` and a `vmap` method.

## Why it matters

PyTorch raises under vmap.

## Example

```python
generate_vmap_rule = True
def vmap(info, in_dims, x): ...
```

## Instead

```python
generate_vmap_rule = True
```

## Exceptions

None.

## Fix

Keep one.
"""

NAME = "both-vmap-rules"
SEVERITY = "error"
