"""A removed or deprecated autograd interface is used.

## Finds

`ctx.saved_variables`, `torch.cuda.amp.custom_fwd`, `torch.cuda.amp.custom_bwd`, `torch.autograd.Variable`.

## Why it matters

Newer versions of PyTorch warn or have removed it.

## Example

```python
import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_variables
        return 2 * grad_output * x
```

## Instead

```python
import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * grad_output * x
```

## Exceptions

Code that supports old versions on purpose.

## Fix

Use the present name.
"""

NAME = "deprecated-api"
SEVERITY = "note"
