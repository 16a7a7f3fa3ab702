"""Forward returns an input as it is.

## Finds

`return x` where `x` is an input of forward that was not changed in place.

## Why it matters

The result becomes a view made inside a custom Function: changing it in place afterwards is refused.

## Example

```python
import torch


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad_output):
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

In-place Functions with `mark_dirty`.

## Fix

Return `x.clone()` if in-place operations may follow, else `x.view_as(x)`.
"""

NAME = "returns-input-view"
SEVERITY = "warning"
