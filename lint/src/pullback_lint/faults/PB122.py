"""A builtin is used where a local name was meant.

## Finds

`input`, `max`, `sum` and the like used as a tensor in backward, although only forward has a local of that name.

## Why it matters

No NameError points at it: `input` is a Python function, and the arithmetic fails or compares nonsense.

## Example

```python
import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        return input * input

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output * input
```

## Instead

```python
import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input * input

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return 2 * grad_output * input
```

## Exceptions

Calling the builtin.

## Fix

Save the tensor and unpack it in backward.
"""

NAME = "builtin-captured"
SEVERITY = "error"
