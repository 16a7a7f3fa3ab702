"""A backward is written that nothing ever calls.

## Finds

A `backward` method on an `nn.Module`, or a Function whose `forward` is called directly instead of by `apply`.

## Why it matters

`nn.Module` has no backward protocol: autograd differentiates `forward` and the method is dead code, without a word.

## Example

```python
import torch


class Reverse(torch.nn.Module):
    def forward(self, x):
        return x.view_as(x)

    def backward(self, grad_output):
        return -grad_output
```

## Instead

```python
import torch


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -grad_output
```

## Exceptions

A method called `backward` that the module's own code calls, such as a training step, is an ordinary method.

## Fix

Put forward and backward into an `autograd.Function` and call its `apply` from the module.
"""

NAME = "bypassed-backward"
SEVERITY = "error"
