"""The gradient of a function of one tensor, read off its output: on each side of a turning point the output tells it.

Where a function rises or falls all along, or turns once, its slope is a function of the output and of one bit: on
which side of the turning point the argument was. That function is tabulated and interpolated in the root of the
distance from the turning point's value, in which it is smooth there (Novikov and Oseledets 2024 fit such functions for
two activations; here they come from the forward itself). The knots lie so that the bits of a number say which two it
is between. How far off it is is measured for each dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from pullback._tolerances import SMALL

Slope = Callable[[torch.Tensor], torch.Tensor]
_FARTHEST, _POINTS = 1e4, (1 << 13) + 1
_SHIFT, _LEAST, _MOST = 13, 0x37800000, 0x43000000  # 1024 knots from a power of two to the next, from 2^-16 to 2^7
_FIRST, _ROW = _LEAST >> _SHIFT, (_MOST - _LEAST >> _SHIFT) + 2
_NOISE = 1e-13  # smaller slopes have no sign
_STEEPEST = 16.0  # steeper functions would need a relative error


@dataclass(frozen=True)
class Inverse:
    """The slope of a function by its output.

    Args:
        turning: The argument at which the function turns; ``None`` if it never does.
        value: Its value there.
        slopes: The slope at each knot, one row for each side, after one another: by the root of the distance from
            ``value``; for what never turns by the distance from zero, negative outputs first.
        error: The largest error of the slope that was met, in the dtype the function is for.
    """

    turning: float | None
    value: float
    slopes: torch.Tensor
    error: float

    def __call__(self, out: torch.Tensor, side: torch.Tensor | None) -> torch.Tensor:
        """The slope where the output is ``out``, right of the turning point where ``side`` holds."""
        root = self.root(out.float())
        right = root > 0 if side is None else side
        place = root.abs().contiguous().view(torch.int32).clamp(_LEAST, _MOST)
        at = (place >> _SHIFT) - _FIRST + right * _ROW
        share = (place & (1 << _SHIFT) - 1) * 2.0**-_SHIFT
        found = torch.lerp(self.slopes[at], self.slopes[at + 1], share)
        return torch.where(out.isnan(), out, found).to(out.dtype)

    def root(self, out: torch.Tensor) -> torch.Tensor:
        """The coordinate in which the slope is tabulated: for what never turns, the output itself."""
        if self.turning is None:
            return out
        high = float(torch.tensor(self.value, dtype=torch.float32))  # the rest of the value after it: no rounding
        return ((out - high) - (self.value - high)).clamp(min=0).sqrt()


def _between(root: torch.Tensor, knots: torch.Tensor, slopes: torch.Tensor) -> torch.Tensor:
    """Linear interpolation; constant beyond the last knot."""
    after = torch.searchsorted(knots, root).clamp(1, len(knots) - 1)
    low, high = knots[after - 1], knots[after]
    share = ((root - low) / (high - low).clamp(min=1e-300)).clamp(0, 1)
    return torch.lerp(slopes[after - 1], slopes[after], share)


@dataclass(frozen=True)
class Refused:
    """Why there is no such function, or none good enough."""

    reason: str


def inverse(forward: Slope, slope: Slope, dtype: torch.dtype) -> Inverse | Refused:
    """The slope by the output, if the error stays within the dtype's budget.

    Args:
        forward: The function, of a tensor of any floating dtype.
        slope: Its derivative, or what the rules make of a cotangent of one.
        dtype: What it is to be called with.

    >>> inverse(torch.cos, lambda x: -torch.sin(x), torch.float32)
    Refused(reason='it turns more than once')
    """
    if dtype not in SMALL:
        return Refused(f"there is no budget for {dtype}")
    reach = math.asinh(_FARTHEST)
    x = torch.sinh(torch.linspace(-reach, reach, _POINTS, dtype=torch.float64))
    y, d = forward(x), slope(x)
    if not (y.isfinite() & d.isfinite()).all() or d.abs().max() > _STEEPEST:
        return Refused("its slope is not bounded")
    signs = torch.sign(d[d.abs() > _NOISE * d.abs().max()])
    turns = int((signs[1:] != signs[:-1]).sum())
    if turns > 1:
        return Refused("it turns more than once")
    if turns and signs[0] > 0:
        return Refused("it turns at a largest value")
    made = _tabulated(x, y, d, slope if turns else None, forward)
    return _measured(made, forward, slope, dtype)


def _tabulated(x: torch.Tensor, y: torch.Tensor, d: torch.Tensor, slope: Slope | None, forward: Slope) -> Inverse:
    turning = None if slope is None else _root(slope, x[d < -_NOISE][-1].item(), x[d > _NOISE][0].item())
    value = 0.0 if turning is None else float(forward(torch.tensor([turning], dtype=torch.float64)))
    at = (torch.arange(_FIRST, _FIRST + _ROW, dtype=torch.int32) << _SHIFT).view(torch.float32).double()
    if turning is None:
        order = y.argsort()
        rows = [_between(knots, y[order], d[order]) for knots in (-at, at)]
    else:
        root = (y - value).clamp(min=0).sqrt()
        rows = [_row(at, root[s], d[s]) for s in (x <= turning, x >= turning)]
    return Inverse(turning, value, torch.cat(rows).float(), math.inf)


def _row(at: torch.Tensor, roots: torch.Tensor, slopes: torch.Tensor) -> torch.Tensor:
    """The slopes on one side of the turning point, where it is zero."""
    order, zero = roots.argsort(), roots.new_zeros(1)
    return _between(at, torch.cat([zero, roots[order]]), torch.cat([zero, slopes[order]]))


def _root(slope: Slope, low: float, high: float) -> float:
    """Where the slope goes through zero, by bisection."""
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if float(slope(torch.tensor([middle], dtype=torch.float64))) < 0 else (low, middle)
    return high


def _measured(made: Inverse, forward: Slope, slope: Slope, dtype: torch.dtype) -> Inverse | Refused:
    """The same with its error, over numbers of every size, a dense line, and the neighbourhood of the turning point."""
    centre = made.turning or 0.0
    every = torch.arange(-(1 << 15), 1 << 15, dtype=torch.int16).view(
        torch.bfloat16 if dtype != torch.float16 else dtype
    )
    near = torch.sinh(torch.linspace(-2, 2, 1 << 14, dtype=torch.float64)) * 1e-2
    x = torch.cat([every.double(), torch.linspace(-20, 20, 1 << 15, dtype=torch.float64), centre + near]).to(dtype)
    x = x[x.isfinite() & (x.abs() <= _FARTHEST)]
    side = None if made.turning is None else x >= made.turning
    error = float((made(forward(x), side).double() - slope(x.double())).abs().max())
    if not error <= SMALL[dtype]:
        return Refused(f"the slope would be off by {error:.1e} in {dtype}, more than {SMALL[dtype]:.0e}")
    return replace(made, error=error)
