"""custom_fwd is used without custom_bwd, or the reverse.

## Finds

One of the two decorators alone.

## Why it matters

Backward runs under another autocast state than forward.

## Example

```python
@custom_fwd(device_type="cuda")
def forward(ctx, x): ...
def backward(ctx, g): ...
```

## Instead

```python
@custom_bwd(device_type="cuda")
def backward(ctx, g): ...
```

## Exceptions

None.

## Fix

Use both.
"""

NAME = "custom-bwd-missing"
SEVERITY = "warning"
