"""The inverse of a linear map is used where its adjoint is needed.

## Finds

`ifft` (with the same norm) as backward of `fft`, an inverse where a transpose is needed.

## Why it matters

Wrong by a factor, or altogether if the map is not orthogonal.

## Example

```python
def forward(ctx, x): return torch.fft.fft(x)
def backward(ctx, g): return torch.fft.ifft(g)
```

## Instead

```python
def backward(ctx, g): return torch.fft.ifft(g, norm="forward")
```

## Exceptions

`norm="ortho"`.

## Fix

Use the adjoint.
"""

NAME = "adjoint-vs-inverse"
SEVERITY = "error"
