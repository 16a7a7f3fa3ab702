"""Where the values are compared: the given point, and the same with one thing changed, each within its domain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from pullback.check.arguments import Arguments
from pullback.check.reference import nudged


@dataclass(frozen=True)
class Point:
    """Arguments and how they came about."""

    label: str
    arguments: Arguments
    inside: bool = True  # surely within the domain that the author had in mind
    setting: bool = False  # another branch: a flag or a reduction is another one


def points(arguments: Arguments) -> list[Point]:
    """The points at which values are compared."""
    found = [Point("given", arguments), Point("nudged", nudged(arguments))]
    found += [Point(label, changed, setting=_is_switch(label)) for label, changed in _settings(nudged(arguments, 11))]
    found.append(Point("signs changed", nudged(_signs(arguments), 13), inside=False))
    found.append(Point("scaled", nudged(_scaled(arguments), 19), inside=False))
    return found


def domain(x: torch.Tensor) -> str:
    """Where the elements of a tensor live: ``unit``, ``positive`` or ``real``."""
    if x.is_complex() or not x.numel():
        return "real"
    if bool((x >= 0).all()):
        return "unit" if bool((x <= 1).all()) else "positive"
    return "real"


def _signs(arguments: Arguments) -> Arguments:
    return arguments.with_differentiable([_flip(x, k) for k, x in enumerate(arguments.differentiable)])


def _flip(x: torch.Tensor, seed: int) -> torch.Tensor:
    if domain(x) != "real" or x.is_complex() or x.ndim == 0:
        return x
    keep = torch.rand(x.shape, generator=torch.Generator().manual_seed(seed)) < 0.5
    return torch.where(keep, x, -x)


def _scaled(arguments: Arguments) -> Arguments:
    return arguments.with_differentiable([x * (0.6 if domain(x) == "unit" else 2.5) for x in arguments.differentiable])


def _settings(arguments: Arguments) -> Iterator[tuple[str, Arguments]]:
    """One setting changed at a time: strings of reductions, flags, numbers."""
    for index, leaf in enumerate(arguments.leaves):
        for value in _others(arguments.names[index], leaf):
            flat = arguments.leaves
            flat[index] = value
            yield f"{arguments.names[index]}={value!r}", arguments.with_leaves(flat)


REDUCTIONS = ("mean", "sum", "none")


def _is_switch(label: str) -> bool:
    """Whether what was changed is a flag or a word, and not a number."""
    return label.endswith(("True", "False", "'"))


def _others(name: str, leaf: Any) -> list[Any]:
    if isinstance(leaf, bool):
        return [not leaf]
    if isinstance(leaf, str) and leaf in REDUCTIONS:
        return [word for word in REDUCTIONS if word != leaf]
    if isinstance(leaf, float) and leaf not in (float("inf"), float("-inf")) and "eps" not in name:
        return [leaf * 0.8 if 0 < leaf < 1 else leaf * 1.25]
    return []


def integers(arguments: Arguments) -> list[int]:
    """Positions of leaves that are index tensors."""
    kinds = (torch.int64, torch.int32, torch.int16, torch.uint8)
    return [i for i, x in enumerate(arguments.leaves) if isinstance(x, torch.Tensor) and x.dtype in kinds]
