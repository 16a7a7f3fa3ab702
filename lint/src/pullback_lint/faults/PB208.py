"""An input that the result depends on gets None as gradient.

## Finds

`None` on every path for a tensor input that forward uses in a differentiable way.

## Why it matters

The parameter never trains, without a word.

## Example

```python
import torch


class Gain(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, gain):
        ctx.save_for_backward(gain)
        return x * torch.exp(gain)

    @staticmethod
    def backward(ctx, grad_output):
        (gain,) = ctx.saved_tensors
        return grad_output * torch.exp(gain), None
```

## Instead

```python
import torch


class Gain(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, gain):
        ctx.save_for_backward(x, gain)
        return x * torch.exp(gain)

    @staticmethod
    def backward(ctx, grad_output):
        x, gain = ctx.saved_tensors
        grad_x = grad_output * torch.exp(gain)
        return grad_x, (grad_x * x).sum_to_size(gain.shape)
```

## Exceptions

Stop-gradient on purpose, constants, labels, masks.

## Fix

Return the gradient, or declare that there is none: `# pullback: ignore[PB208]`.
"""

NAME = "param-grad-none"
SEVERITY = "warning"
