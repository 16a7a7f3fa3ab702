"""The Function cannot be pickled or copied.

## Finds

A class or callable defined in a local scope.

## Why it matters

Worker processes and `torch.save` refuse it.

## Example

```python
def make():
    class F(torch.autograd.Function): ...
    return F
```

## Instead

```python
class F(torch.autograd.Function): ...
```

## Exceptions

Factories that never leave the process.

## Fix

Define it at module level.
"""

NAME = "not-picklable"
SEVERITY = "note"
