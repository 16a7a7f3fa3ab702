"""Under autocast, backward mixes dtypes.

## Finds

A matrix product in forward that autocast runs in low precision, whose result meets tensors saved in float32 in
backward, without `custom_fwd` and `custom_bwd`.

## Why it matters

Backward raises for mixed dtypes under automatic mixed precision.

## Example

```python
h = x @ a
ctx.save_for_backward(x, h)
```

## Instead

```python
@torch.amp.custom_fwd(device_type="cuda")
def forward(ctx, x, a): ...
```

## Exceptions

Elementwise Functions.

## Fix

Use `torch.amp.custom_fwd` and `custom_bwd`, or cast to one dtype.
"""

NAME = "amp-dtype-mismatch"
SEVERITY = "error"
