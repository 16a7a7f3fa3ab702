"""The function itself amplifies rounding here.

## Finds

A point where eager PyTorch has no correct digits either.

## Why it matters

Nothing can be measured there.

## Example

```python
import torch
import pullback as pb


class Sign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        values, vectors = torch.linalg.eigh(a @ a.mT)
        ctx.save_for_backward(values, vectors)
        return vectors

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


pb.check(Sign, torch.ones(4, 4))
```

## Instead

```python
import torch


def projector(a):
    _, vectors = torch.linalg.eigh(a @ a.mT)
    return vectors[:, -1:] @ vectors[:, -1:].mT
```

## Exceptions

None.

## Fix

Check at another point.
"""

NAME = "ill-conditioned"
SEVERITY = "note"
