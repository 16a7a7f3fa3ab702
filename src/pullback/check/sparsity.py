"""Which entries of a Jacobian can be other than zero, and how they share evaluations.

Dimensions run in step when slice i of the output depends on slice i of the argument alone: batches, channels, in a
pointwise function all of them. What differs only along such dimensions has one colour: it is moved, or pulled back, at
once, and no entry is mixed with another.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from pullback.check.arguments import Arguments
from pullback.check.case import Case

SHIFT = 1e-3  # by how much slices are moved


@dataclass(frozen=True)
class Pattern:
    """Dimensions of an argument that run in step with dimensions of each output.

    Args:
        shape: The argument's shape.
        outputs: The outputs' shapes.
        steps: For each dimension of the argument that does, its partner in each output.
    """

    shape: torch.Size
    outputs: tuple[torch.Size, ...]
    steps: dict[int, tuple[int, ...]]

    @property
    def columns(self) -> int:
        """How many colours the argument's elements have."""
        return math.prod(n for a, n in enumerate(self.shape) if a not in self.steps)

    def rows(self, output: int) -> int:
        """How many colours an output's elements have."""
        return math.prod(n for b, n in enumerate(self.outputs[output]) if b not in self.along(output))

    def along(self, output: int) -> list[int]:
        """The dimensions of an output that run in step with the argument's, in the argument's order."""
        return [self.steps[a][output] for a in sorted(self.steps)]

    @property
    def is_pointwise(self) -> bool:
        """Whether every element of the outputs depends on one element of the argument alone."""
        return self.columns == 1 and all(self.rows(k) == 1 for k in range(len(self.outputs)))

    def column_places(self) -> Iterator[tuple[int | slice, ...]]:
        """For each colour of the argument, where its elements are."""
        return places(self.shape, sorted(self.steps))

    def row_places(self, output: int) -> Iterator[tuple[int | slice, ...]]:
        """For each colour of an output, where its elements are."""
        return places(self.outputs[output], self.along(output))


def places(shape: Sequence[int], free: Sequence[int]) -> Iterator[tuple[int | slice, ...]]:
    """All indices of a shape, those along ``free`` dimensions taken together."""
    return itertools.product(*[[slice(None)] if d in free else range(n) for d, n in enumerate(shape)])


def pattern(case: Case, arguments: Arguments, leaf: int) -> Pattern:
    """What runs in step between an argument and the outputs; remembered per shapes."""
    shapes = tuple(x.shape for x in arguments.differentiable)
    known = case.facts.setdefault("patterns", {})
    if (leaf, shapes) not in known:
        known[leaf, shapes] = _pattern(case, arguments, leaf)
    return known[leaf, shapes]  # type: ignore[no-any-return]


def _pattern(case: Case, arguments: Arguments, leaf: int) -> Pattern:
    x, still = arguments.differentiable[leaf], case.values(arguments)
    shapes = tuple(out.shape for out in still)
    taken: list[set[int]] = [set() for _ in still]
    steps = {}
    for a in reversed(range(x.ndim)):
        if x.shape[a] < 2 or not all(x.shape[a] in shape for shape in shapes):
            continue
        partners = _partners(case, arguments, leaf, a, still, taken)
        if partners is not None:
            steps[a] = partners
            for used, b in zip(taken, partners, strict=True):
                used.add(b)
    return Pattern(x.shape, shapes, steps)


def _partners(
    case: Case, arguments: Arguments, leaf: int, a: int, still: list[torch.Tensor], taken: list[set[int]]
) -> tuple[int, ...] | None:
    """For every output the dimension whose slices stay put where those of the argument along ``a`` do."""
    tensors = arguments.differentiable
    x = tensors[leaf]
    options = [
        [b for b in _likeliest(out, x.ndim - a) if out.shape[b] == x.shape[a] and b not in used]
        for out, used in zip(still, taken, strict=True)
    ]
    for mask in _masks(x.shape[a]):
        if not all(options):
            return None
        shape = [-1 if d == a else 1 for d in range(x.ndim)]
        moved = [*tensors[:leaf], x + SHIFT * mask.to(x.dtype).reshape(shape), *tensors[leaf + 1 :]]
        changed = case.values(arguments.with_differentiable(moved))
        options = [
            [b for b in possible if _stays(before, after, b, ~mask)]
            for possible, before, after in zip(options, still, changed, strict=True)
        ]
    return tuple(possible[0] for possible in options) if all(options) else None


def _likeliest(out: torch.Tensor, from_the_right: int) -> list[int]:
    """The dimensions of an output, that which broadcasting would pair first."""
    same = out.ndim - from_the_right
    return sorted(range(out.ndim), key=lambda b: (b != same, -b))


def _masks(n: int) -> Iterator[torch.Tensor]:
    even = torch.arange(n) % 2 == 0
    drawn = torch.rand(n, generator=torch.Generator().manual_seed(n)) < 0.5
    drawn[:2] = torch.tensor([False, True])
    yield from (even, drawn) if n > 2 else (even, ~even)


def _stays(before: torch.Tensor, after: torch.Tensor, dim: int, kept: torch.Tensor) -> bool:
    if before.shape != after.shape:
        return False
    same = (before == after) | (before.isnan() & after.isnan())
    return bool(same.index_select(dim, kept.nonzero().reshape(-1)).all())
