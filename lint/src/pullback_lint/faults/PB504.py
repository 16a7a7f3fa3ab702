"""custom_fwd is used without custom_bwd, or the reverse.

## Finds

One of the two decorators alone.

## Why it matters

Backward runs under another autocast state than forward.

## Example

```python
import torch


class Cube(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda")
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * grad_output * x**2
```

## Instead

```python
import torch


class Cube(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda")
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * grad_output * x**2
```

## Exceptions

None.

## Fix

Use both.
"""

NAME = "custom-bwd-missing"
SEVERITY = "warning"
