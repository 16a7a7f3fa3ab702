"""Where inputs are equal, the gradients of those that move together add up to the slope."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from pullback.check import reference
from pullback.check.arguments import Arguments
from pullback.check.case import Case, cotangents
from pullback.check.report import Finding

NEEDS = "gradient"
STEP = 1e-5
NEAR = 1e-3  # relative; the slopes are differences
Direction = list[torch.Tensor]


def probe(case: Case) -> Iterator[Finding]:
    """Make inputs equal, move them together, and compare the gradient with the slope from both sides."""
    if case.is_random:
        return
    for what, arguments, direction in _tied(case.arguments):
        slope = _slope(case, arguments, direction)
        if slope is None or _agrees(case, arguments, direction, slope) or _lonely(case, arguments, direction, slope):
            continue
        apart = reference.moved(arguments, [d * reference.random_like(d, k) for k, d in enumerate(direction)], 0.1)
        elsewhere = _slope(case, apart, direction)
        if elsewhere is not None and _agrees(case, apart, direction, elsewhere):  # else it is no matter of ties
            yield Finding(
                "wrong-derivative", f"at ties ({what}) the gradients do not add up to the slope {slope:.6g} of forward",
                cause="where inputs are equal each of them gets the whole gradient, or none does",
                fix="give it to one of them (a >= b and a < b), or divide by the number of those that are equal",
                argument=what.partition("=")[0].strip(), evidence={"slope": slope},
            )  # fmt: skip
            return


def _tied(arguments: Arguments) -> Iterator[tuple[str, Arguments, Direction]]:
    """Arguments of which two are equal, or one is equal along its last dimension, and a direction that keeps it so."""
    tensors, names = arguments.differentiable, arguments.diff_names
    still = [torch.zeros_like(x) for x in tensors]
    real = [i for i, x in enumerate(tensors) if not x.is_complex() and x.ndim and x.shape[-1] > 1]
    for i in real:
        row = tensors[i][..., :1].expand_as(tensors[i]).clone()
        along = reference.random_like(tensors[i], 17)[..., :1].expand_as(tensors[i]).clone()
        yield f"{names[i]} = {names[i]}[..., 0]", *_with(arguments, still, {i: (row, along)})
    for i in real:
        for j in real:
            if i != j and _fits(tensors[j], tensors[i]):
                along = reference.random_like(tensors[j], 17)
                both = {i: (tensors[j].expand_as(tensors[i]).clone(), along.expand_as(tensors[i]).clone()),
                        j: (tensors[j], along)}  # fmt: skip
                yield f"{names[i]} = {names[j]}", *_with(arguments, still, both)


def _fits(small: torch.Tensor, large: torch.Tensor) -> bool:
    """Whether one tensor can be broadcast to another."""
    sizes = zip(reversed(small.shape), reversed(large.shape), strict=False)
    return small.ndim <= large.ndim and all(a in (b, 1) for a, b in sizes)


def _with(
    arguments: Arguments, still: Direction, changed: dict[int, tuple[torch.Tensor, torch.Tensor]]
) -> tuple[Arguments, Direction]:
    tensors, direction = list(arguments.differentiable), list(still)
    for place, (value, along) in changed.items():
        tensors[place], direction[place] = value, along
    return arguments.with_differentiable(tensors), direction


def _slope(case: Case, arguments: Arguments, direction: Direction) -> float | None:
    """The slope of the weighted outputs along a direction, if it is the same on both sides."""
    base = case.run(arguments, backward=False)
    if not base.ok:
        return None
    number = reference.weighted(case, cotangents(base.outputs))
    try:
        low, here, high = (number(reference.moved(arguments, direction, step)) for step in (-STEP, 0.0, STEP))
    except Exception:  # forward refuses, or gives other shapes there
        return None
    left, right = (here - low) / STEP, (high - here) / STEP
    return (left + right) / 2 if _near(left, right) else None


def _lonely(case: Case, arguments: Arguments, direction: Direction, slope: float) -> bool:
    """Whether the gradient is right a step away, where inputs are still equal: the point is to blame, not the tie."""
    return any(_agrees(case, reference.moved(arguments, direction, step), direction, slope) for step in (-STEP, STEP))


def _agrees(case: Case, arguments: Arguments, direction: Direction, slope: float) -> bool:
    outcome = case.run(arguments)
    if not outcome.ok:
        return True
    pairs = zip(outcome.grads, direction, strict=True)
    return _near(sum(reference.inner(grad, d) for grad, d in pairs), slope)


def _near(a: float, b: float) -> bool:
    """Whether two slopes agree; what is not finite agrees with everything, for others speak of that."""
    return not abs(a - b) > NEAR * max(1.0, abs(a), abs(b))
