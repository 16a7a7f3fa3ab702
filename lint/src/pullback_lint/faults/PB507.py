"""A way of running uses the forward and drops the custom backward.

## Finds

`export`, `make_fx` or a compiled transform gives the gradient of the body instead of the custom one.

## Why it matters

Another gradient, silently.

## Example

```python
import torch
import pullback as pb


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1.0

    @staticmethod
    def backward(ctx, grad_output):
        return -grad_output


pb.check(Reverse, torch.randn(4), probes=["export"])
```

## Instead

```python
import torch
import pullback as pb

pb.check(pb.functional.reverse_gradient, torch.randn(4), probes=["export"])
```

## Exceptions

None.

## Fix

Use an operator that the stack knows.
"""

NAME = "stack-drops-rule"
SEVERITY = "warning"
