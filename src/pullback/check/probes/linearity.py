"""Backward is linear in the incoming gradient: scales and signs come through, zero gives zero."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import torch

from pullback.check import compare, intent
from pullback.check.case import Case, cotangents
from pullback.check.reference import precision
from pullback.check.report import Finding

NEEDS = "gradient"
SCALES = (-1.0, 1e-3, 50.0)


def probe(case: Case) -> Iterator[Finding]:
    """Scale the incoming gradient, flip its sign, add two of them, make it zero."""
    one = case.run(incoming=lambda outputs: cotangents(outputs, 0))
    two = case.run(incoming=lambda outputs: cotangents(outputs, 1))
    for index, name in enumerate(case.arguments.diff_names):
        if case.arguments.diff_names[:index].count(name):
            continue
        wrong = _scaled(case, one.grads, index) or _added(case, one.grads, two.grads, index)
        if wrong:
            yield _finding(case, name, index, wrong)


def _scaled(case: Case, plain: list[torch.Tensor | None], index: int) -> str:
    for scale in SCALES:
        outcome = case.run(incoming=functools.partial(cotangents, seed=0, scale=scale))
        grad = plain[index]
        if outcome.ok and not _same(case, outcome.grads[index], None if grad is None else scale * grad):
            return f"{scale:g} times the incoming gradient does not give {scale:g} times the gradient"
    return ""


def _added(case: Case, one: list[torch.Tensor | None], two: list[torch.Tensor | None], index: int) -> str:
    a, b = one[index], two[index]
    if a is None or b is None:
        return ""

    def both(outputs: list[torch.Tensor]) -> list[torch.Tensor | None]:
        pairs = zip(cotangents(outputs, 0), cotangents(outputs, 1), strict=True)
        return [None if x is None or y is None else x + y for x, y in pairs]

    outcome = case.run(incoming=both)
    if outcome.ok and not _same(case, outcome.grads[index], a + b):
        return "the gradient for a sum of two incoming gradients is not the sum of the gradients"
    return ""


def _same(case: Case, got: torch.Tensor | None, expected: torch.Tensor | None) -> bool:
    """Whether they agree as far as the arithmetic allows: sums of rounded numbers differ in low precision."""
    return compare.same(got, expected, precision(case))


def _finding(case: Case, name: str, index: int, wrong: str) -> Finding:
    samples = case.facts.get("samples") or []
    meant = bool(samples) and (intent.is_identity(samples, index) or intent.is_flat(samples, index))
    meant = meant or intent.hinted(case) or case.intended is not None or name in case.facts.get("meant", ())
    return Finding(
        "nonlinear-backward", f"the gradient of {name!r} is not linear in {case.target.incoming}: {wrong}",
        cause="a derivative is linear in the incoming gradient; clipping, signs or added terms are not",
        fix="" if meant else f"multiply {case.target.incoming} in once, and nothing else by it", argument=name,
        level=None if meant else "error",
    )  # fmt: skip
