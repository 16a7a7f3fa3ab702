"""A formula has a stable equivalent in torch.

## Finds

`log(softmax(x))`, `log(sum(exp(x)))`, `log(sigmoid(x))`, `log(1 + exp(x))`.

## Why it matters

It overflows or loses its digits at inputs that real training reaches.

## Example

```python
import torch


class LogSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.log(torch.softmax(x, -1))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output - torch.exp(y) * grad_output.sum(-1, keepdim=True)
```

## Instead

```python
import torch


class LogSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.log_softmax(x, -1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output - torch.exp(y) * grad_output.sum(-1, keepdim=True)
```

## Exceptions

Bounded arguments.

## Fix

Use the stable function. `--unsafe-fixes` does it.
"""

NAME = "unstable-formula"
SEVERITY = "warning"
