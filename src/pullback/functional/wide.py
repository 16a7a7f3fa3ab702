"""How many digits an entry computes with: more than it was given, so that only the last rounding counts."""

from __future__ import annotations

import torch

from pullback.errors import UsageError


def wide(x: torch.Tensor) -> torch.Tensor:
    """``x`` with room for the roundings of a formula: float64 for float32, float32 for 16 bits."""
    if x.dtype == torch.float32 and x.device.type != "mps":  # which has no float64
        return x.double()
    return upcast(x)


def upcast(x: torch.Tensor) -> torch.Tensor:
    """``x`` in float32 where it has 16 bits, in the default dtype where it is no floating-point number."""
    if x.dtype in (torch.float32, torch.float64):
        return x
    if x.is_complex():
        got, do = f"a tensor of {x.dtype}", "apply it to x.real and x.imag, or use PyTorch's own function"
        raise UsageError("pullback.functional", "takes real numbers", got, do)
    return x.float() if x.is_floating_point() else x / 1


def narrow(y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """A result in the dtype of the input it belongs to; of an integer, as it is."""
    return y.to(x.dtype) if x.is_floating_point() else y
