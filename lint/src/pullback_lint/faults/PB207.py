"""The gradient of a shared parameter is averaged instead of summed.

## Finds

`.mean(…)` of an expression with the cotangent as the gradient of a broadcast parameter.

## Why it matters

Contributions add up; the mean is smaller by the number of elements.

## Example

```python
import torch


class Offset(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, offset):
        return x - offset

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, -grad_output.mean()
```

## Instead

```python
import torch


class Offset(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, offset):
        return x - offset

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, -grad_output.sum()
```

## Exceptions

A deliberate scaling of the step of learned quantisers: declare it.

## Fix

Use `.sum(…)`.
"""

NAME = "param-grad-averaged"
SEVERITY = "error"
