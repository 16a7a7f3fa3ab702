"""The function itself amplifies rounding here.

## Finds

A point where eager PyTorch has no correct digits either.

## Why it matters

Nothing can be measured there.

## Example

```python
import torch
import pullback as pb


class Basis(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        values, vectors = torch.linalg.eigh(a @ a.mT)
        ctx.save_for_backward(values, vectors)
        return vectors

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


pb.check(Basis, torch.eye(4))
```

## Instead

```python
import torch
import pullback as pb


def projector(a):
    _, vectors = torch.linalg.eigh(a @ a.mT)
    return vectors[:, -1:] @ vectors[:, -1:].mT


pb.check(projector, torch.diag(torch.arange(1.0, 5.0)))
```

## Exceptions

None.

## Fix

Check at another point.
"""

NAME = "ill-conditioned"
SEVERITY = "note"
