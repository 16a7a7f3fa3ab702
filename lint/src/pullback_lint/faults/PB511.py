"""A torch.library operator returns one of its arguments.

## Finds

`return x` of a parameter in a `custom_op`.

## Why it matters

An operator must not return an alias; compile goes wrong silently.

## Example

```python
def act(x: torch.Tensor) -> torch.Tensor:
    return x
```

## Instead

```python
    return x.clone()
```

## Exceptions

None.

## Fix

Return a copy.
"""

NAME = "custom-op-aliases-input"
SEVERITY = "error"
