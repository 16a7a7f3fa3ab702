"""The gradients of two inputs change places.

## Finds

Gradients returned in another order than forward's inputs, or each computed with its own operand instead of the
other one.

## Why it matters

Shapes often agree, so nothing raises.

## Example

```python
import torch


class Ratio(torch.autograd.Function):
    @staticmethod
    def forward(ctx, num, den):
        ctx.save_for_backward(num, den)
        return num / den

    @staticmethod
    def backward(ctx, grad_output):
        num, den = ctx.saved_tensors
        d_den = -grad_output * num / den**2
        d_num = grad_output / den
        return d_den, d_num
```

## Instead

```python
import torch


class Ratio(torch.autograd.Function):
    @staticmethod
    def forward(ctx, num, den):
        ctx.save_for_backward(num, den)
        return num / den

    @staticmethod
    def backward(ctx, grad_output):
        num, den = ctx.saved_tensors
        d_den = -grad_output * num / den**2
        d_num = grad_output / den
        return d_num, d_den
```

## Exceptions

None.

## Fix

Return them in the order of forward's inputs.
"""

NAME = "swapped-gradients"
SEVERITY = "error"
