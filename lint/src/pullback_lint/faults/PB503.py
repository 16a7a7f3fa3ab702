"""custom_fwd is combined with setup_context.

## Finds

`@custom_fwd` on a `forward` without ctx.

## Why it matters

It writes its state on its first argument, which here is the user's tensor, and backward fails.

## Example

```python
import torch


class Cube(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda")
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * grad_output * x**2
```

## Instead

```python
import torch


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(x):
        with torch.autocast(x.device.type, enabled=False):
            return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * grad_output * x**2
```

## Exceptions

None.

## Fix

Switch autocast off inside, or use the classic form.
"""

NAME = "custom-fwd-setup-context"
SEVERITY = "error"
