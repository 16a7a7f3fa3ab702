"""The same call gives different results.

## Finds

Two calls with equal inputs and generator state that differ.

## Why it matters

Gradients cannot be reproduced, and recomputation gives other values.

## Example

```python
import torch
import pullback as pb


class Warm(torch.autograd.Function):
    calls = 0

    @staticmethod
    def forward(ctx, x):
        Warm.calls += 1
        ctx.scale = 1 - 0.5**Warm.calls
        return x * ctx.scale

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.scale


pb.check(Warm, torch.randn(5))
```

## Instead

```python
import torch
import pullback as pb


class Warm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step):
        ctx.scale = 1 - 0.5**step
        return x * ctx.scale

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.scale, None


pb.check(Warm, torch.randn(5), 3)
```

## Exceptions

Atomic additions on an accelerator.

## Fix

Pass what changes from call to call as an argument; save what was drawn.
"""

NAME = "not-deterministic"
SEVERITY = "warning"
