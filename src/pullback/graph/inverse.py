"""The gradient of a function of one tensor, read off its output: on each side of a turning point the output tells it.

Where a function rises or falls all along, or turns once, its slope is a function of the output and of one bit: on
which side of the turning point the argument was. That function is tabulated between knots and interpolated in the
root of the distance from the turning point's value, in which it is smooth there (Novikov and Oseledets 2024 fit such
functions for two activations; here they come from the forward itself). How far off it is is measured for each dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from pullback._tolerances import SMALL

Slope = Callable[[torch.Tensor], torch.Tensor]
_FARTHEST, _KNOTS = 1e4, (1 << 13) + 1
_NOISE = 1e-13  # smaller slopes have no sign
_STEEPEST = 16.0  # steeper functions would need a relative error


@dataclass(frozen=True)
class Inverse:
    """The slope of a function by its output.

    Args:
        turning: The argument at which the function turns; ``None`` if it never does.
        value: Its value there.
        roots: The knots, one row for each side: roots of the distance from ``value``, or outputs; ascending.
        slopes: The slope at each knot.
        error: The largest error of the slope that was met, in the dtype the function is for.
    """

    turning: float | None
    value: float
    roots: torch.Tensor
    slopes: torch.Tensor
    error: float

    def __call__(self, out: torch.Tensor, side: torch.Tensor | None) -> torch.Tensor:
        """The slope where the output is ``out``, right of the turning point where ``side`` holds."""
        root = self.root(out.float())
        rows = [_between(root, r, s) for r, s in zip(self.roots, self.slopes, strict=True)]
        found = rows[0] if side is None else torch.where(side, rows[1], rows[0])
        return torch.where(out.isnan(), out, found).to(out.dtype)

    def root(self, out: torch.Tensor) -> torch.Tensor:
        """The coordinate in which the slope is tabulated: for what never turns, the output itself."""
        if self.turning is None:
            return out
        high = float(torch.tensor(self.value, dtype=torch.float32))  # the rest of the value after it: no rounding
        return ((out - high) - (self.value - high)).clamp(min=0).sqrt()


def _between(root: torch.Tensor, knots: torch.Tensor, slopes: torch.Tensor) -> torch.Tensor:
    """Linear interpolation; constant beyond the last knot."""
    after = torch.searchsorted(knots, root.contiguous()).clamp(1, len(knots) - 1)
    low, high = knots[after - 1], knots[after]
    share = ((root - low) / (high - low)).clamp(0, 1)
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
    x = torch.sinh(torch.linspace(-reach, reach, _KNOTS, dtype=torch.float64))
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
    sides = [torch.ones_like(x, dtype=torch.bool)] if turning is None else [x <= turning, x >= turning]
    places = y if turning is None else (y - value).clamp(min=0).sqrt()
    rows = [_row(places[s], d[s], turning is not None) for s in sides]
    length = max(len(r) for r, _ in rows)
    roots, slopes = (torch.stack([_padded(row[i], length, i == 0) for row in rows]) for i in (0, 1))
    return Inverse(turning, value, roots, slopes, math.inf)


def _row(roots: torch.Tensor, slopes: torch.Tensor, turns: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Ascending knots in float32, each once, and the slopes there; where the function turns the slope is zero."""
    order = roots.argsort()
    roots, slopes = roots[order].float(), slopes[order].float()
    if turns:
        roots, slopes = torch.cat([roots.new_zeros(1), roots]), torch.cat([slopes.new_zeros(1), slopes])
    fresh = torch.cat([roots.new_ones(1, dtype=torch.bool), roots[1:] > roots[:-1]])
    return roots[fresh], slopes[fresh]


def _padded(row: torch.Tensor, length: int, ascending: bool) -> torch.Tensor:
    """A row made longer: by ever larger knots, or by its last slope."""
    more = torch.arange(1, length - len(row) + 1, dtype=row.dtype)
    return torch.cat([row, row[-1] + more * row[-1].abs() if ascending else row[-1].expand(len(more))])


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
    return Inverse(made.turning, made.value, made.roots, made.slopes, error)
