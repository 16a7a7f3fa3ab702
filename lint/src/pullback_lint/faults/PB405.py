"""The Function has no forward-mode rule.

## Finds

A class without `jvp`.

## Why it matters

`jacfwd`, `hessian`, `torch.func.jvp` and forward AD refuse it.

## Example

```python
class Torque(torch.autograd.Function): ...      # backward alone
```

## Instead

```python
    @staticmethod
    def jvp(ctx, theta_t, _): return d * theta_t
```

## Exceptions

Reverse mode is all that most training needs.

## Fix

Add `jvp`.
"""

NAME = "no-jvp"
SEVERITY = "note"
