"""Memory is read as if it were contiguous.

## Finds

`data_ptr()`, `as_strided`, or a compiled kernel on a cotangent or input without `contiguous()`.

## Why it matters

For an expanded or transposed tensor, another memory is read: silently wrong numbers.

## Example

```python
import torch
from mylib import kernel


class Shift(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return kernel.forward(x.contiguous())

    @staticmethod
    def backward(ctx, grad_output):
        grad = torch.zeros_like(grad_output)
        kernel.launch(grad_output.data_ptr(), grad.data_ptr(), grad.numel())
        return grad
```

## Instead

```python
import torch
from mylib import kernel


class Shift(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return kernel.forward(x.contiguous())

    @staticmethod
    def backward(ctx, grad_output):
        grad_output = grad_output.contiguous()
        grad = torch.zeros_like(grad_output)
        kernel.launch(grad_output.data_ptr(), grad.data_ptr(), grad.numel())
        return grad
```

## Exceptions

Kernels that are given the strides.

## Fix

Call `.contiguous()` first. `--fix` does it.
"""

NAME = "noncontig-raw-memory"
SEVERITY = "error"
