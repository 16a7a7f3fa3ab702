"""The incoming gradient is left out, made a number, or partly dropped."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch

from pullback.check import compare
from pullback.check.samples import Sample
from pullback.check.trouble import Cause, Trouble, filled


def no_gradient(t: Trouble) -> Cause | None:
    """There is none."""
    if not all(compare.is_zero(t.got(s)) for s in t.wrong):
        return None
    return Cause(
        "param-grad-none",
        f"backward gives no gradient for {t.name!r} although the output depends on it",
        f"return the gradient of {t.name!r} on every path"
        + (" whenever ctx.needs_input_grad asks for it" if t.case.target.function is not None else "")
        + (f", or say .nondiff({t.name!r})" if t.case.target.has_rules else ""),
    )


def ignored(t: Trouble) -> Cause | None:
    """The gradient is the same whatever arrives."""
    pair = _same_point(t)
    if pair is None or compare.is_zero(t.got(pair[0])) or not t.same(t.got(pair[0]), t.got(pair[1])):
        return None
    return Cause(
        "missing-grad-output",
        f"the gradient of {t.name!r} is the same whatever {t.g} is: it is never multiplied in",
        f"multiply the gradient of {t.name!r} by {t.g}",
    )


def _same_point(t: Trouble) -> tuple[Sample, Sample] | None:
    for a, b in itertools.pairwise(t.samples):
        if a.point is b.point:
            return a, b
    return None


def scalarised(t: Trouble) -> Cause | None:
    """The gradient is right for incoming gradients that are equal everywhere, and for no other."""
    outputs = t.wrong[0].outputs
    if all(out.numel() <= 1 for out in outputs) or all(_reordered(t, s) for s in t.wrong) or not _stretched(t):
        return None
    matched = False
    for sample in t.wrong:
        uniform = [None if g is None else torch.full_like(g, 1.7) for g in sample.incoming]
        outcome = t.case.run(sample.arguments, uniform)
        expected = t.reference.gradients(sample.arguments, filled(sample, uniform))[t.leaf]
        if not outcome.ok or not t.same(outcome.grads[t.leaf], expected) or not _follows(t, sample, expected):
            return None
        matched = matched or not compare.is_zero(expected)
    if not matched:
        return None
    return Cause(
        "grad-output-scalarised",
        f"backward uses a single number made from {t.g} (an element, a sum or a mean): it is right only where all "
        f"elements of {t.g} are equal",
        f"use {t.g} element by element; it has the shape of the output",
    )


def _stretched(t: Trouble) -> bool:
    """Whether all that another incoming gradient does is to multiply the gradient, or each of its rows."""
    pair = _same_point(t)
    if pair is None:
        return True
    a, b = (t.got(sample) for sample in pair)
    return (
        a is None
        or b is None
        or any(map(_are_multiples, (a.reshape(1, -1), _by_row(a)), (b.reshape(1, -1), _by_row(b))))
    )


def _by_row(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.reshape(len(tensor), -1) if tensor.ndim > 1 else tensor.reshape(1, -1)


def _are_multiples(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether every row of one is a multiple of the same row of the other."""
    inner = (a.conj() * b).sum(1).abs()
    return bool(((a.norm(dim=1) * b.norm(dim=1) - inner).abs() <= SMALL**0.5 * inner.max()).all())


def _follows(t: Trouble, sample: Sample, uniform: torch.Tensor | None) -> bool:
    """Whether the gradient is zero where that for equal incoming gradients is: a number can only stretch it."""
    got = t.got(sample)
    return got is None or uniform is None or not bool(((uniform == 0) & (got.abs() > SMALL)).any())


SMALL = 1e-9  # what rounding leaves of a gradient that is zero


def _reordered(t: Trouble, sample: Sample) -> bool:
    """Whether the right numbers stand at other places."""
    got, expected = t.got(sample), t.expected(sample)
    if got is None or expected is None or got.is_complex() or got.shape != expected.shape:
        return False
    return t.same(got.reshape(-1).sort().values, expected.reshape(-1).sort().values)


def reordered(t: Trouble) -> Cause | None:
    """The right numbers at other places, whatever arrives."""
    if not all(_reordered(t, s) for s in t.wrong) or any(compare.is_zero(t.got(s)) for s in t.wrong):
        return None
    return Cause(
        "wrong-derivative",
        f"the gradient of {t.name!r} has the right numbers at the wrong places",
        "turn the order round: what forward gathers (or sorts) by an index, backward scatters to that index",
    )


def other_output_dropped(t: Trouble) -> Cause | None:
    """What arrives for one of the outputs is not used."""
    for index, out in enumerate(t.wrong[0].outputs):
        if t.wrong[0].incoming[index] is None or len([g for g in t.wrong[0].incoming if g is not None]) < 2:
            continue

        def without(sample: Sample, index: int = index) -> list[torch.Tensor | None]:
            return [torch.zeros_like(g) if i == index and g is not None else g for i, g in enumerate(sample.incoming)]

        def right_without(sample: Sample, without: Callable[[Sample], Any] = without) -> torch.Tensor | None:
            return t.reference.gradients(sample.arguments, filled(sample, without(sample)))[t.leaf]

        if t.mimics(right_without):
            which = ["first", "second", "third", "fourth", "fifth"][index] if index < 5 else f"{index + 1}th"
            return Cause(
                "second-output-grad-dropped",
                f"the gradient that arrives for the {which} output ({list(out.shape)}) is not used for {t.name!r}",
                "add its contribution; an output that is not differentiable belongs in ctx.mark_non_differentiable",
            )
    return None
