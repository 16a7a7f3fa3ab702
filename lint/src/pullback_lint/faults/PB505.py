"""torch.compile breaks the graph at this Function.

## Finds

Compilation with `fullgraph=True` fails, while eager works.

## Why it matters

The call is slower and cannot be fused.

## Example

```python
import torch
import pullback as pb


class Square(torch.autograd.Function):
    @staticmethod
    def forward(x):
        torch._dynamo.graph_break()
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


pb.check(Square, torch.randn(4), probes=["compile"])
```

## Instead

```python
import torch
import pullback as pb


class Square(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


pb.check(Square, torch.randn(4), probes=["compile"])
```

## Exceptions

Functions that wrap external code.

## Fix

See the message.
"""

NAME = "compile-graph-break"
SEVERITY = "note"
