"""Gradients are finite where forward is and has bounded slopes: zeros, ties, large and tiny values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from pullback.check import nonfinite, reference, state, tree, unique
from pullback.check.arguments import Arguments, double
from pullback.check.case import Case, cotangents, pull
from pullback.check.points import domain
from pullback.check.report import Finding

NEEDS = "gradient"
VALUES = {
    "real": (0.0, 1.0, -1.0, 5.0, -5.0, 30.0, -30.0, 100.0, -100.0, 1e3, -1e3),
    "positive": (0.0, 1e-8, 1.0, 30.0, 100.0, 1e3),
    "unit": (0.0, 1.0, 1e-8),
}
ORDINARY = 1e6  # values that float32 holds with ease
FAR = 50.0  # a value that a function of whole rows or matrices need not be made for
TEXT = {
    "exp-overflow-nan": ("an exponential or a power overflows in backward, and inf/inf or 0·inf is NaN",
                         "use a form that saturates: torch.sigmoid, softplus, expm1, logsumexp"),
    "nan-at-kink": ("backward divides zero by zero there", "guard the division: torch.where on a safe denominator"),
    "masked-nan-leak": ("a mask multiplies something infinite: 0·inf is NaN",
                        "put the safe value inside: f(torch.where(mask, x, safe)), then mask"),
    "nonfinite-at-extreme": ("backward leaves the range of numbers although the slope of forward is bounded",
                             "use a form that stays finite"),
}  # fmt: skip


@dataclass(frozen=True)
class Extreme:
    """Arguments with a special value in one of them."""

    label: str
    leaf: int
    arguments: Arguments
    value: float = 0.0


def probe(case: Case) -> Iterator[Finding]:
    """Put special values into each argument, into some elements, a row or all of them."""
    seen: set[str] = set()
    for extreme in extremes(case.arguments):
        if f"{extreme.leaf}" in seen:
            continue
        finding = _judged(case, extreme)
        if finding is not None:
            seen.add(f"{extreme.leaf}")
            yield finding
    yield from _overflows(case)


def extremes(arguments: Arguments) -> Iterator[Extreme]:
    """Special values within the domain of each argument."""
    tensors = arguments.differentiable
    for leaf, x in enumerate(tensors):
        alone = len(tensors) == 1
        if not x.numel() or (x.numel() == 1 and not alone):  # a step or scale: zero is not for it
            continue
        name = arguments.diff_names[leaf]
        for value in (0.0,) if x.is_complex() else VALUES[domain(x)]:
            for some in _masks(x):
                changed = torch.where(some, torch.full_like(x, value), x)
                yield Extreme(f"{name}={value:g}", leaf, _replaced(arguments, leaf, changed), value)
        for other, y in enumerate(tensors):
            if other != leaf and y.shape == x.shape:
                yield Extreme(f"{name}={arguments.diff_names[other]}", leaf, _replaced(arguments, leaf, y.clone()))
            elif other != leaf and x.ndim and y.ndim and y.shape[1:] == x.shape[1:]:
                first = torch.cat([y[:1], x[1:]])
                where = f"{name}[0]={arguments.diff_names[other]}[0]"
                yield Extreme(where, leaf, _replaced(arguments, leaf, first))


def _masks(x: torch.Tensor) -> list[torch.Tensor]:
    some = (torch.arange(x.numel()) % 3 == 0).reshape(x.shape)
    masks = [some, torch.ones_like(some)]
    if x.ndim >= 2:
        row = torch.zeros_like(some)
        row[0] = True
        masks.append(row)
    return masks if x.ndim else masks[:1]


def _replaced(arguments: Arguments, leaf: int, value: torch.Tensor) -> Arguments:
    tensors = list(arguments.differentiable)
    tensors[leaf] = value
    return arguments.with_differentiable(tensors)


def _judged(case: Case, extreme: Extreme) -> Finding | None:
    single = extreme.arguments.map(_single)
    for arguments in (single, extreme.arguments):
        outcome = case.run(arguments)
        if not outcome.ok or not _finite(outcome.outputs):
            continue
        for name, grad in zip(arguments.diff_names, outcome.grads, strict=True):
            if grad is not None and not bool(torch.isfinite(grad).all()):
                return _finding(case, extreme, arguments, name, grad)
    return None


def _single(leaf: object) -> object:
    return leaf.float() if isinstance(leaf, torch.Tensor) and leaf.dtype is torch.float64 else leaf


def _finite(outputs: list[torch.Tensor]) -> bool:
    return all(bool(torch.isfinite(out).all()) for out in outputs if tree.is_differentiable(out))


def _finding(case: Case, extreme: Extreme, arguments: Arguments, name: str, grad: torch.Tensor) -> Finding | None:
    index = arguments.diff_names.index(name)
    place = int((~torch.isfinite(grad)).reshape(-1).nonzero()[0])
    is_nan = bool(torch.isnan(grad).any())
    if is_nan:
        place = int(torch.isnan(grad).reshape(-1).nonzero()[0])
    fault = _origin(case, arguments) if is_nan else "nonfinite-at-extreme"
    told = fault == "masked-nan-leak" or (is_nan and _known_finite(case, arguments, index))
    steep = not told and not _bounded(case, arguments, index, place)
    if steep and not (is_nan and abs(extreme.value) < FAR):  # infinite is right there, but NaN never is
        return None
    cause, fix = TEXT[fault]
    return Finding(
        fault, f"the gradient of {name!r} is {'NaN' if is_nan else 'infinite'} where forward is finite "
        f"({extreme.label})", cause=cause, fix=fix, argument=name, evidence={"at": extreme.label},
        level=_level(case, extreme, steep),
    )  # fmt: skip


def _level(case: Case, extreme: Extreme, steep: bool) -> str | None:
    """An error, unless the value may be one that the function was not made for, or where nothing is right."""
    if unique.decomposes(case):  # not differentiable where singular values meet, by nature
        return "note"
    if steep:
        return "warning"
    inside = domain(case.arguments.differentiable[extreme.leaf]) == "real"
    near = inside and abs(extreme.value) < FAR and case.facts.get("asked", True)
    return None if near or reference.is_pointwise(case, extreme.leaf) else "warning"


def _origin(case: Case, arguments: Arguments) -> str:
    state.seed()
    leaves, passed = arguments.fresh()
    with nonfinite.Origin() as origin:
        outputs = tree.tensors(case.target.apply(*passed))
        in_forward, origin.cause = origin.cause, None
        pull(outputs, leaves, cotangents(outputs))
    return origin.cause or in_forward or "nan-at-kink"


def _known_finite(case: Case, arguments: Arguments, index: int) -> bool:
    """Whether PyTorch's own derivative of forward is finite at a point."""
    truth = case.facts.get("reference")
    if truth is None or truth.kind != "autograd":
        return False
    wide = arguments.map(double)
    outcome = case.run(wide, backward=False)
    try:
        grad = truth.gradients(wide, cotangents(outcome.outputs))[index]
    except Exception:  # forward cannot be followed there
        return False
    return grad is not None and bool(torch.isfinite(grad).all())


def _overflows(case: Case) -> Iterator[Finding]:
    """Forward itself is infinite or NaN in float32 where float64 gives a number of ordinary size."""
    for extreme in extremes(case.arguments):
        if abs(extreme.value) < FAR or case.is_random:
            continue
        low = case.run(extreme.arguments.map(_single), backward=False)
        if not low.ok or _finite(low.outputs):
            continue
        wide = case.values(extreme.arguments)
        pairs = zip([out for out in low.outputs if tree.is_differentiable(out)], wide, strict=True)
        if any(bool((~torch.isfinite(a) & (b.abs() < ORDINARY)).any()) for a, b in pairs):
            yield Finding(
                "exp-overflow-nan", f"forward overflows in float32 at {extreme.label}, where its value is ordinary",
                cause="an exponential or a power overflows in forward before something smaller is made of it",
                fix=TEXT["exp-overflow-nan"][1], argument=case.arguments.diff_names[extreme.leaf],
                evidence={"at": extreme.label}, level="warning",
            )  # fmt: skip
            return


def _bounded(case: Case, arguments: Arguments, index: int, place: int) -> bool:
    """Whether forward's difference quotients at an element stay bounded as the step shrinks, on at least one side."""
    if arguments.differentiable[index].is_complex():
        return False
    wide = arguments.map(double)
    number = reference.weighted(case, cotangents(case.run(wide, backward=False).outputs))
    x = float(wide.differentiable[index].reshape(-1)[place])
    size = max(abs(x), 1.0)

    def quotient(step: float) -> float:
        return (number(reference.shifted(wide, index, place, step * size)) - number(wide)) / (step * size)

    def slopes(side: float) -> list[float]:
        try:
            return [abs(quotient(side * h)) for h in (1e-3, 1e-5, 1e-7)]
        except Exception:  # forward refuses what lies on that side
            return []

    sides = [steps for side in (1.0, -1.0) if (steps := slopes(side)) and all(map(math.isfinite, steps))]
    return bool(sides) and all(steps[2] <= 1.8 * max(steps[0], 1e-3) for steps in sides)
