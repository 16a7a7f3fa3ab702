"""The forward is the identity and the gradient is modified.

## Finds

Forward returns its input unchanged and backward is not the identity.

## Why it matters

Nothing is wrong; the report says what the backward does.

## Example

```python
import torch
import pullback as pb


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -grad_output


pb.check(Reverse, torch.randn(4))
```

## Instead

```python
import pullback as pb

reverse = pb.functional.reverse_gradient
```

## Exceptions

A declared intention is compared.

## Fix

Declare the intention, so that it can be checked.
"""

NAME = "gradient-modifier"
SEVERITY = "note"
