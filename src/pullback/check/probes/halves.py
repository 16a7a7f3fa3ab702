"""Half precision is enough: every number that bfloat16 and float16 have, where elements do not depend on each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from pullback.check import reference, tree
from pullback.check.arguments import Arguments, double
from pullback.check.case import Case, cotangents, filled
from pullback.check.points import domain
from pullback.check.report import Finding

NEEDS = "gradient"
LARGEST = 1e3  # numbers beyond are for the probe of extremes
RATIO = 2.0  # times the error of PyTorch's own derivative of the same forward
FLOOR = 32  # roundings of the dtype below which an error is none
SHARE = 0.02  # of all numbers


def probe(case: Case) -> Iterator[Finding]:
    """Compare the gradient at every number with float64, beside that of PyTorch in the same dtype."""
    truth = case.facts.get("reference")
    if truth is None or truth.kind != "autograd" or not case.facts.get("right") or case.is_random:
        return
    if len(case.base.outputs) != 1:
        return
    for leaf, name in enumerate(case.arguments.diff_names):
        if not reference.is_pointwise(case, leaf):
            continue
        for dtype in (torch.bfloat16, torch.float16):
            finding = _judged(case, truth, leaf, name, dtype)
            if finding is not None:
                yield finding
                break


def every(dtype: torch.dtype, kind: str) -> torch.Tensor:
    """All numbers of a dtype in a domain, none too large or too small to be normal."""
    bits = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16)
    numbers = bits.view(dtype)
    size = numbers.double().abs()
    usable = torch.isfinite(size) & (size <= (1.0 if kind == "unit" else LARGEST)) & (size > torch.finfo(dtype).tiny)
    return numbers[usable if kind == "real" else usable & (numbers > 0)]


def _judged(case: Case, truth: reference.Reference, leaf: int, name: str, dtype: torch.dtype) -> Finding | None:
    x = case.arguments.differentiable[leaf]
    numbers = every(dtype, domain(x))
    low = _laid_out(case.arguments, leaf, numbers, dtype)
    try:
        weights = _incoming(case, low)
        wide = [None if g is None else g.double() for g in weights]
        grads = [_by_target(case, low), truth.gradients(low, weights), truth.gradients(low.map(double), wide)]
    except Exception:  # not made for this dtype
        return None
    mine, eager, right = (found[leaf] for found in grads)
    if mine is None or eager is None or right is None or mine.dtype is not dtype:
        return None
    worst = _lost(mine.double(), eager.double(), right, torch.finfo(dtype))
    if worst is None:
        return None
    share, at = worst
    kind = str(dtype).removeprefix("torch.")
    return Finding(
        "float32-not-enough", f"the formula for {name!r} is right, but {kind} is not precise enough for it: off at "
        f"{share:.0%} of all numbers, at {float(numbers[at]):.4g} it is {float(mine[at]):.4g} and not "
        f"{float(right[at]):.4g}", cause="roundings in backward are far larger than those of PyTorch's own derivative",
        fix="compute in float32 for half inputs and round once at the end", argument=name,
        evidence={"dtype": kind, "share": share, "at": float(numbers[at])},
    )  # fmt: skip


def _laid_out(arguments: Arguments, leaf: int, numbers: torch.Tensor, dtype: torch.dtype) -> Arguments:
    """The arguments in a dtype with all numbers in one of them."""
    shape = arguments.differentiable[leaf].shape

    def spread(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        value = value.to(dtype) if value.is_floating_point() else value
        return value.reshape(-1)[:1].expand(numbers.shape).clone() if value.shape == shape else value

    flat = [spread(value) for value in arguments.leaves]
    flat[arguments.diff[leaf]] = numbers
    return arguments.with_leaves(flat)


def _incoming(case: Case, arguments: Arguments) -> list[torch.Tensor | None]:
    outputs = case.run(arguments, backward=False).outputs
    return filled(outputs, cotangents(outputs))


def _by_target(case: Case, arguments: Arguments) -> list[torch.Tensor | None]:
    outcome = case.run(arguments)
    if outcome.error is not None:
        raise outcome.error
    if not all(
        bool(torch.isfinite(out).float().mean() > 0.5) for out in outcome.outputs if tree.is_differentiable(out)
    ):
        raise ValueError("hardly any of these numbers is in the domain")
    return outcome.grads


def _lost(mine: torch.Tensor, eager: torch.Tensor, right: torch.Tensor, info: Any) -> tuple[float, int] | None:
    """At which share of the numbers the gradient is lost, and where it is worst."""
    size = right.abs()
    counted = torch.isfinite(right) & torch.isfinite(eager) & (size > 1e3 * info.tiny) & (size < info.max / 4)
    error, theirs = (torch.nan_to_num((g - right).abs(), nan=info.max) for g in (mine, eager))
    lost = counted & (error > RATIO * theirs) & (error > FLOOR * info.eps * size)
    share = float(lost.sum()) / max(int(counted.sum()), 1)
    if share < SHARE:
        return None
    return share, int(torch.where(lost, error / (size + 1e-2), 0.0).argmax())
