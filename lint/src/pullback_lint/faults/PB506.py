"""The compiled gradient differs from the eager one.

## Finds

Another gradient under `torch.compile`, without an error.

## Why it matters

Training changes when it is compiled.

## Example

```python
import torch
import pullback as pb


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x * (1 if torch.compiler.is_compiling() else 2)


pb.check(Square, torch.randn(4), probes=["compile"])
```

## Instead

```python
import torch
import pullback as pb


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x * 2


pb.check(Square, torch.randn(4), probes=["compile"])
```

## Exceptions

Differences within the dtype's tolerance.

## Fix

Do not let backward depend on layout, identity or state.
"""

NAME = "compile-wrong"
SEVERITY = "error"
