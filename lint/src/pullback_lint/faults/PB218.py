"""An elementwise formula is used where a Jacobian product is needed.

## Finds

The backward of softmax, log_softmax, normalise, cumsum and the like without a sum over the dimension.

## Why it matters

Each output depends on every input of its row; the cross terms are lost.

## Example

```python
import torch


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.softmax(x, -1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y)
```

## Instead

```python
import torch


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.softmax(x, -1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (grad_output - (grad_output * y).sum(-1, keepdim=True))
```

## Exceptions

None.

## Fix

Use the product with the whole Jacobian.
"""

NAME = "elementwise-jacobian"
SEVERITY = "error"
