"""Right gradients from forward alone: differences in float64, column by column as far as that is affordable.

Every entry is had from two steps of a stencil of fourth order; how far they differ says how far each can be trusted.
Arguments with more columns than evaluations are judged along random directions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from pullback.check import sparsity
from pullback.check.arguments import Arguments
from pullback.check.case import Case, Cotangents

COLUMNS = 400  # differences by column up to here, along random directions beyond
DIRECTIONS = 8
PER_COLUMN = 8  # evaluations of forward: four points for each of two steps
STEPS = {"exact": (1e-3, 1e-4), "single": (3e-2, 1e-2), "half": (2e-1, 1e-1)}
TINY = 1e-6
AGREE = 1e-6  # relative difference of two steps between which there is no kink
EPS = 2.0**-52

Outputs = list[torch.Tensor]


@dataclass(frozen=True)
class Jacobian:
    """The entries of one argument's Jacobian, column by colour, with how far each can be trusted."""

    pattern: sparsity.Pattern
    columns: list[tuple[complex, Outputs, Outputs]]  # what was moved by (1 or 1j), slopes, doubts

    def pulled(self, incoming: Sequence[torch.Tensor], like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The gradient for incoming gradients, and how far each of its elements can be trusted."""
        grad, doubt = torch.zeros_like(like), torch.zeros_like(like.real if like.is_complex() else like)
        units = 2 if like.is_complex() else 1
        for position, place in enumerate(self.pattern.column_places()):
            for unit, slopes, doubts in self.columns[units * position : units * (position + 1)]:
                grad[place] += unit * self._summed([_paired(s, c) for s, c in zip(slopes, incoming, strict=True)])
                doubt[place] += self._summed([d * c.abs() for d, c in zip(doubts, incoming, strict=True)])
        return grad, doubt

    def _summed(self, parts: Outputs) -> torch.Tensor:
        """Parts summed over what does not run in step with the argument, in the order of its dimensions."""
        total = torch.zeros((), dtype=torch.float64)
        for output, part in enumerate(parts):
            along = self.pattern.along(output)
            rest = [d for d in range(part.ndim) if d not in along]
            kept = part.sum(rest) if rest else part
            order = sorted(along)
            total = total + kept.permute([order.index(b) for b in along])
        return total


def _paired(slope: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return (slope.conj() * weight).real if slope.is_complex() or weight.is_complex() else slope * weight


def jacobian(case: Case, arguments: Arguments, leaf: int, level: str = "exact") -> Jacobian | None:
    """The Jacobian of one argument; None where it costs more evaluations than are allowed."""
    found = sparsity.pattern(case, arguments, leaf)
    x = arguments.differentiable[leaf]
    units: tuple[complex, ...] = (1.0, 1j) if x.is_complex() else (1.0,)
    allowed = COLUMNS if case.evaluations is None else case.evaluations // PER_COLUMN
    if found.columns * len(units) > max(allowed, 1):
        return None
    if found.steps and not _fits(case, arguments, leaf, found):
        found = sparsity.Pattern(found.shape, found.outputs, {})
        if found.columns * len(units) > max(allowed, 1):
            return None
    columns = [
        (unit, *_column(case, arguments, leaf, place, unit, level)) for place in found.column_places() for unit in units
    ]
    return Jacobian(found, columns)


def _fits(case: Case, arguments: Arguments, leaf: int, found: sparsity.Pattern) -> bool:
    """Whether nothing lies off the pattern: moving one slice of a dimension moves no other slice of its partner."""
    x, still = arguments.differentiable[leaf], case.values(arguments)
    for a, partners in found.steps.items():
        moving = torch.zeros(x.shape[a], dtype=torch.bool)
        moving[x.shape[a] // 3] = True
        shape = [-1 if d == a else 1 for d in range(x.ndim)]
        after = _at(case, arguments, leaf, 0.37 * moving.to(x.dtype).reshape(shape))
        pairs = zip(still, after, partners, strict=True)
        if not all(sparsity._stays(before, now, b, ~moving) for before, now, b in pairs):
            return False
    return True


def _at(case: Case, arguments: Arguments, leaf: int, step: torch.Tensor) -> Outputs:
    tensors = arguments.differentiable
    return case.values(arguments.with_differentiable([*tensors[:leaf], tensors[leaf] + step, *tensors[leaf + 1 :]]))


def _column(
    case: Case, arguments: Arguments, leaf: int, place: tuple[int | slice, ...], unit: complex, level: str
) -> tuple[Outputs, Outputs]:
    x = arguments.differentiable[leaf]
    direction = torch.zeros_like(x)
    direction[place] = torch.tensor(unit, dtype=x.dtype)
    size = scale_of(x)

    def at(step: float) -> Outputs:
        return _at(case, arguments, leaf, step * size * direction)

    slopes, doubts = slopes_of(at, level)
    return [s / size for s in slopes], [d / size for d in doubts]


def scale_of(x: torch.Tensor) -> float:
    """By what to multiply steps: less than one for small numbers."""
    mean = float(x.abs().mean()) if x.numel() else 1.0
    return min(1.0, mean) if mean > 0 else 1.0


def slopes_of(at: Callable[[float], Outputs], level: str = "exact") -> tuple[Outputs, Outputs]:
    """The slopes of outputs at zero, and how far each can be trusted; kinks and jumps nearby are stepped away from."""
    first, second = STEPS[level]
    wide, narrow = _stencil(at, first), _stencil(at, second)
    close = [(a - b).abs() <= AGREE * (a.abs() + b.abs()) + 1e-10 for a, b in zip(wide, narrow, strict=True)]
    doubts = [_doubt(a, b, f, second) for a, b, f in zip(wide, narrow, at(0.0), strict=True)]
    if level != "exact" or all(bool(c.all()) for c in close):
        return wide, doubts
    tiny = [(p - m) / (2 * TINY) for p, m in zip(at(TINY), at(-TINY), strict=True)]
    chosen = [torch.where(c, a, t) for c, a, t in zip(close, wide, tiny, strict=True)]
    return chosen, [torch.where(c, d, d + (t - b).abs() + 1e-4 * t.abs())
                    for c, d, t, b in zip(close, doubts, tiny, narrow, strict=True)]  # fmt: skip


def _doubt(wide: torch.Tensor, narrow: torch.Tensor, value: torch.Tensor, step: float) -> torch.Tensor:
    """How far a slope can be trusted: by two steps, by what is usual among its neighbours, and by rounding."""
    apart = (wide - narrow).abs()
    usual = apart.reshape(-1).quantile(0.9) if 0 < apart.numel() < 10**6 else apart.new_zeros(())
    largest = value.abs().max() if value.numel() else apart.new_zeros(())
    return 10 * (apart + usual) + 10 * EPS * largest / step


def _stencil(at: Callable[[float], Outputs], h: float) -> Outputs:
    points = zip(at(h), at(-h), at(2 * h), at(-2 * h), strict=True)
    return [(8 * (a - b) - (c - d)) / (12 * h) for a, b, c, d in points]


def gradients(
    case: Case, arguments: Arguments, incoming: Cotangents, level: str = "exact"
) -> tuple[list[torch.Tensor | None], list[torch.Tensor | None]]:
    """The gradients of all arguments and how far they can be trusted; None where they are too dear to have."""
    weights = [c for c in incoming if c is not None]
    pairs: list[tuple[torch.Tensor | None, torch.Tensor | None]] = []
    for leaf, x in enumerate(arguments.differentiable):
        found = remembered(case, arguments, leaf, level)
        pairs.append((None, None) if found is None else found.pulled(weights, x))
    return [grad for grad, _ in pairs], [doubt for _, doubt in pairs]


def remembered(case: Case, arguments: Arguments, leaf: int, level: str) -> Jacobian | None:
    """The Jacobian, had once per point."""
    known = case.facts.setdefault("jacobians", {})
    key = (id(arguments), leaf)
    if key not in known:
        known[key] = arguments, jacobian(case, arguments, leaf, level)  # kept alive, so that its id stays its own
    return known[key][1]  # type: ignore[no-any-return]
