"""The target's gradient beside the right one, at every point and for several incoming gradients."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from pullback.check import compare, tree
from pullback.check.arguments import Arguments
from pullback.check.case import Case, Outcome, cotangents, filled
from pullback.check.points import Point, points
from pullback.check.reference import Reference


@dataclass(frozen=True)
class Sample:
    """One comparison: where, with which incoming gradients, what came out and what should have."""

    point: Point
    incoming: list[torch.Tensor | None]
    outputs: list[torch.Tensor]
    got: list[torch.Tensor | None]
    expected: list[torch.Tensor | None]
    doubts: list[torch.Tensor | None] | None = None

    @property
    def arguments(self) -> Arguments:
        """The arguments of the call."""
        return self.point.arguments


SEEDS = {"given": (0, 1), "nudged": (2, 3)}


def samples(case: Case, reference: Reference) -> list[Sample]:
    """All comparisons that could be made; points outside of the forward's domain are left out."""
    found = []
    for point in points(case.arguments):
        for seed in SEEDS.get(point.label, (4,)):
            sample = _sample(case, reference, point, seed)
            if sample is None:
                break
            found.append(sample)
    return found


def _sample(case: Case, reference: Reference, point: Point, seed: int) -> Sample | None:
    outcome = case.run(point.arguments, lambda outputs: cotangents(outputs, seed))
    if outcome.stage == "backward" and outcome.error is not None and point.setting:
        case.facts.setdefault("broken", {})[point.label] = outcome.error
    if not outcome.ok or not _finite(outcome):
        return None
    incoming = cotangents(outcome.outputs, seed)
    differentiable = [c if o.requires_grad else None for o, c in zip(outcome.outputs, incoming, strict=True)]
    return judged(case, reference, Sample(point, differentiable, outcome.outputs, outcome.grads, []))


def judged(case: Case, reference: Reference, sample: Sample) -> Sample | None:
    """A sample with the right gradients; None outside of the reference's domain, or of its shapes."""
    incoming = filled(sample.outputs, sample.incoming)
    try:
        expected = reference.gradients(sample.arguments, incoming)
        doubts = reference.doubts(sample.arguments, incoming) if reference.doubts else None
        return replace(sample, got=reference.seen(sample.arguments, sample.got), expected=expected, doubts=doubts)
    except Exception:
        return None


def _finite(outcome: Outcome) -> bool:
    return all(bool(torch.isfinite(out).all()) for out in outcome.outputs if tree.is_differentiable(out))


def bad(sample: Sample, leaf: int, level: str) -> bool:
    """Whether the target's gradient of a leaf is wrong in this sample."""
    got, expected = sample.got[leaf], sample.expected[leaf]
    if not compare.same(got, expected, level):
        return True
    if got is None or expected is None:
        return False
    if level == "exact":
        return bool(compare.isolated(got, expected).any())
    doubt = sample.doubts[leaf] if sample.doubts else None
    return level == "differences" and doubt is not None and bool(compare.beyond(got, expected, doubt).any())
