"""How close two results must be, per dtype: the only place where such numbers live."""

from __future__ import annotations

from typing import NamedTuple

import torch


class Tolerance(NamedTuple):
    """Relative and absolute tolerance of one comparison, as ``torch.testing.assert_close`` takes them."""

    rtol: float
    atol: float


# values: a few roundings of the dtype; gradients: the same with room for one reduction over a small tensor
VALUES = {
    torch.float64: Tolerance(1e-12, 1e-12),
    torch.complex128: Tolerance(1e-12, 1e-12),
    torch.float32: Tolerance(2e-6, 2e-6),
    torch.complex64: Tolerance(2e-6, 2e-6),
    torch.float16: Tolerance(2e-3, 2e-3),
    torch.bfloat16: Tolerance(1.6e-2, 1.6e-2),
}
GRADIENTS = {
    torch.float64: Tolerance(1e-10, 1e-10),
    torch.complex128: Tolerance(1e-10, 1e-10),
    torch.float32: Tolerance(2e-5, 2e-5),
    torch.complex64: Tolerance(2e-5, 2e-5),
    torch.float16: Tolerance(8e-3, 8e-3),
    torch.bfloat16: Tolerance(4e-2, 4e-2),
}


def value_tolerance(dtype: torch.dtype) -> Tolerance:
    """The tolerance for values of ``dtype``; exact for integers and booleans."""
    return VALUES.get(dtype, Tolerance(0.0, 0.0))


def gradient_tolerance(dtype: torch.dtype) -> Tolerance:
    """The tolerance for gradients of ``dtype``; exact for integers and booleans."""
    return GRADIENTS.get(dtype, Tolerance(0.0, 0.0))


# the checker: how far a gradient may be from its reference, as (relative to the element, relative to the largest one)
CHECK = {
    "exact": Tolerance(2e-7, 2e-9),  # float64 throughout, the reference by autograd
    "differences": Tolerance(2e-5, 2e-6),  # the reference by finite differences
    "single": Tolerance(2e-3, 2e-4),  # float32 somewhere in the forward
    "half": Tolerance(5e-2, 2e-2),  # half precision somewhere in the forward
}
# one wrong entry among right ones: relative to itself, to the largest, and how many times the usual error
ISOLATED = (2e-7, 1e-12, 1e4)
DOUBTED = (2e-7, 1e-9, 3.0)  # the same beside finite differences; the last is how many times their own doubt
ROUNDING = Tolerance(1e-10, 1e-13)  # what two ways to compute one gradient in float64 may differ by
NOTHING = 1e-13  # a gradient below this is zero

# the catalogue: how many units in the last place a certified value or gradient may be off
CERTIFIED = {torch.bfloat16: 0.55, torch.float16: 0.55, torch.float32: 1.0}
# keep="small": how far a slope, read off the output, may be from the one as written. From an output that is right to
# the last bit the best decoder is off by 5.6e-5, 4.8e-3 and 1.2e-2 next to the turning points of common activations,
# where rounding hides the argument; the outputs of PyTorch's own functions are off by a few more bits
SMALL = {torch.float32: 5e-4, torch.float16: 8e-3, torch.bfloat16: 2e-2}
