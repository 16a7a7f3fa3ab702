"""The Function has neither vmap nor generate_vmap_rule.

## Finds

A class with `setup_context` but without a batching rule.

## Why it matters

`torch.vmap` refuses it.

## Example

```python
class Spring(torch.autograd.Function): ...
```

## Instead

```python
    generate_vmap_rule = True
```

## Exceptions

Functions whose body is not made of PyTorch operations need a `vmap` of their own.

## Fix

Set `generate_vmap_rule = True`, or write `vmap`.
"""

NAME = "no-vmap"
SEVERITY = "note"
