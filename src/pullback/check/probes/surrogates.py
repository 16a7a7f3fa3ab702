"""The surrogate gradients of a step fit each other: what moves the threshold moves the potential the other way."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from pullback.check import compare, intent
from pullback.check.case import Case
from pullback.check.report import Finding
from pullback.check.samples import Sample

NEEDS = "gradient"


def probe(case: Case) -> Iterator[Finding]:
    """A step at ``v - threshold`` stays when both move together: then their gradients must cancel."""
    taken = case.facts.get("samples") or []
    if not taken or case.intended is not None:
        return
    flat = [k for k in range(len(case.arguments.diff)) if intent.is_flat(taken, k)]
    for leaf in flat:
        for other in flat:
            if leaf != other and _is_smaller(case, other, leaf):
                yield from _compared(case, taken[0], leaf, other)


def _is_smaller(case: Case, one: int, two: int) -> bool:
    """Whether a leaf is the other's threshold: smaller, or of the same size and named later."""
    a, b = case.arguments.differentiable[one].numel(), case.arguments.differentiable[two].numel()
    return (a, -one) < (b, -two)


def _compared(case: Case, sample: Sample, leaf: int, other: int) -> Iterator[Finding]:
    mine, theirs = sample.got[leaf], sample.got[other]
    if mine is None or theirs is None or compare.is_zero(theirs) or compare.is_zero(mine):
        return
    if not _moves_together(case, sample, leaf, other):
        return
    try:
        wanted = -mine.sum_to_size(theirs.shape)
    except RuntimeError:  # the shapes have nothing to do with each other
        return
    if compare.same(theirs, wanted, "single"):
        return
    one, two = (case.arguments.diff_names[k] for k in (leaf, other))
    factor = compare.ratio(theirs, wanted)
    yield Finding(
        "surrogate-scale-wrong", f"the surrogate gradients of {one!r} and {two!r} do not fit each other",
        cause=f"forward depends on {one} - {two} alone, so the gradient of {two!r} is minus the sum of the other"
        + (f"; it is {factor:.4g} times that" if factor is not None else ""),
        fix=f"return minus the gradient of {one}, summed to the shape of {two}", argument=two,
    )  # fmt: skip


def _moves_together(case: Case, sample: Sample, leaf: int, other: int) -> bool:
    """Whether the outputs stay when two arguments move by the same amount, and change when one moves alone."""
    tensors = list(sample.arguments.differentiable)
    before = case.values(sample.arguments)
    for amount in (0.37, -1.3):
        both, alone = list(tensors), list(tensors)
        both[leaf], both[other] = tensors[leaf] + amount, tensors[other] + amount
        alone[leaf] = tensors[leaf] + 10 * amount
        still, moved = (case.values(sample.arguments.with_differentiable(t)) for t in (both, alone))
        if not _equal(still, before) or _equal(moved, before):
            return False
    return True


def _equal(one: list[torch.Tensor], two: list[torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, two, strict=True))
