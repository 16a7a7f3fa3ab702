"""The inverse of a linear map is used where its adjoint is needed.

## Finds

`ifft` (with the same norm) as backward of `fft`, an inverse where a transpose is needed.

## Why it matters

Wrong by a factor, or altogether if the map is not orthogonal.

## Example

```python
import torch


class Spectrum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.fft.fft(x)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.fft.ifft(grad_output)
```

## Instead

```python
import torch


class Spectrum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.fft.fft(x)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.fft.ifft(grad_output, norm="forward")
```

## Exceptions

`norm="ortho"`.

## Fix

Use the adjoint.
"""

NAME = "adjoint-vs-inverse"
SEVERITY = "error"
