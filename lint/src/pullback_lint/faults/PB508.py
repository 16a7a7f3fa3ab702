"""The Function fails or changes under checkpointing.

## Finds

Another gradient, or an error, under `torch.utils.checkpoint` or saved-tensor hooks.

## Why it matters

Memory is not saved, or the gradient is wrong.

## Example

```python
import torch
import pullback as pb


class Cycle(torch.autograd.Function):
    calls = 0

    @staticmethod
    def forward(ctx, x):
        Cycle.calls += 1
        ctx.save_for_backward(*[x] * max(1, 2000 - Cycle.calls))
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * ctx.saved_tensors[0] * grad_output


pb.check(Cycle, torch.randn(4))
```

## Instead

```python
import torch
import pullback as pb


class Cycle(torch.autograd.Function):
    calls = 0

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * ctx.saved_tensors[0] * grad_output


pb.check(Cycle, torch.randn(4))
```

## Exceptions

None.

## Fix

Keep tensors with `save_for_backward`.
"""

NAME = "checkpoint-breaks"
SEVERITY = "error"
