"""A transform fails on this Function.

## Finds

`torch.func.grad`, `vmap`, `jvp` or a second backward raises.

## Why it matters

The Function cannot be used there; the error comes late.

## Example

```python
import torch
import pullback as pb


class Square(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return torch.from_numpy(x.detach().numpy() ** 2)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


pb.check(Square, torch.randn(4))
```

## Instead

```python
import torch
import pullback as pb


class Square(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


pb.check(Square, torch.randn(4))
```

## Exceptions

Transforms that are declared as unsupported.

## Fix

See the message.
"""

NAME = "transform-fails"
SEVERITY = "warning"
