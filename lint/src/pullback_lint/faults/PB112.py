"""A torch.library operator has no gradient registered.

## Finds

A `torch.library.custom_op` with floating-point tensors in and out and no `register_autograd`.

## Why it matters

The output claims to require a gradient, and backward raises.

## Example

```python
@torch.library.custom_op("geo::spread", mutates_args=())
def spread(pts: torch.Tensor) -> torch.Tensor: ...
```

## Instead

```python
spread.register_autograd(_backward, setup_context=_setup)
```

## Exceptions

Operators that are used for inference, or only inside another operator's backward.

## Fix

Call `register_autograd`.
"""

NAME = "custom-op-no-autograd"
SEVERITY = "warning"
