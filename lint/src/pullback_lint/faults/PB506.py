"""The compiled gradient differs from the eager one.

## Finds

Another gradient under `torch.compile`, without an error.

## Why it matters

Training changes when it is compiled.

## Example

```python
if grad_output.is_contiguous(): ...
```

## Instead

```python
grad_output = grad_output.contiguous()
```

## Exceptions

Differences within the dtype's tolerance.

## Fix

Do not let backward depend on layout, identity or state.
"""

NAME = "compile-wrong"
SEVERITY = "error"
