"""Forward mode and reverse mode disagree.

## Finds

A `jvp` whose inner product with a cotangent differs from that of backward.

## Why it matters

Hessians and forward-mode results are silently wrong.

## Example

```python
import torch
import pullback as pb


class Square(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output

    @staticmethod
    def jvp(ctx, x_t):
        (x,) = ctx.saved_tensors
        return x * x_t


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
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output

    @staticmethod
    def jvp(ctx, x_t):
        (x,) = ctx.saved_tensors
        return 2 * x * x_t


pb.check(Square, torch.randn(4))
```

## Exceptions

Surrogates whose two rules are meant to differ.

## Fix

Use the derivative in both.
"""

NAME = "jvp-wrong"
SEVERITY = "error"
