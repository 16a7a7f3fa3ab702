"""What a forward and a gradient do, whatever their author calls them: jump, gate, leak, take what has no effect."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch

from pullback.check import compare, reference, tree
from pullback.check.arguments import Arguments
from pullback.check.case import Case
from pullback.check.samples import Sample

STEPS, HALVINGS = 33, 18  # along a line, and of the piece of it that changes most
JUMP = 1e-4  # of the change along the whole line: what is left of a smooth one after that many halvings is far less


def jumps(case: Case, leaf: int) -> bool:
    """Whether the output jumps somewhere on the way of a leaf to the other side of zero and back beyond itself."""
    x = case.arguments.differentiable[leaf]
    try:
        odd = (torch.arange(x.numel()) % 2).reshape(x.shape).to(x.dtype)  # some elements change sign, others grow
        factors = (3.4 * odd - 1.1, 2.3 - 3.4 * odd)
        return any(_jumps_to(case, leaf, x, factor * x - 0.05) for factor in factors)
    except Exception:  # forward fails on the way
        return False


def _jumps_to(case: Case, leaf: int, x: torch.Tensor, end: torch.Tensor) -> bool:
    def at(t: float) -> torch.Tensor:
        return _joined(case, _moved(case.arguments, leaf, x + t * (end - x)))

    values = [at(i / (STEPS - 1)) for i in range(STEPS)]
    whole = max(float((v - values[0]).abs().max()) for v in values)
    gaps = [float((b - a).abs().max()) for a, b in itertools.pairwise(values)]
    widest = gaps.index(max(gaps))
    low, high = widest / (STEPS - 1), (widest + 1) / (STEPS - 1)
    first, last = values[widest], values[widest + 1]
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        value = at(middle)
        if (value - first).abs().max() >= (last - value).abs().max():
            high, last = middle, value
        else:
            low, first = middle, value
    left = float((last - first).abs().max())
    return JUMP * whole < left <= 1.5 * max(gaps)  # at a pole it grows


def _moved(arguments: Arguments, leaf: int, value: torch.Tensor) -> Arguments:
    tensors = list(arguments.differentiable)
    tensors[leaf] = value
    return arguments.with_differentiable(tensors)


def _joined(case: Case, arguments: Arguments) -> torch.Tensor:
    return torch.cat([torch.zeros(1), *[torch.view_as_real(v).reshape(-1) if v.is_complex() else v.reshape(-1)
                                        for v in case.values(arguments)]])  # fmt: skip


def passes_on(samples: Sequence[Sample], leaf: int) -> bool:
    """Whether the gradient is an incoming one, times one number, at some elements and zero at the others."""
    return all(any(_is_gated(s.got[leaf], g) for g in s.incoming if g is not None) for s in samples)


def is_gate(samples: Sequence[Sample], leaf: int) -> bool:
    """Whether forward itself hands on some elements and drops the others: then its gradient is a gate by right."""
    return all(any(_is_gated(s.expected[leaf], g) for g in s.incoming if g is not None) for s in samples)


def passes_all(samples: Sequence[Sample], leaf: int) -> bool:
    """Whether the gradient is an incoming one as it came, everywhere."""
    return all(any(g is not None and torch.equal(s.got[leaf], g) for g in s.incoming)  # type: ignore[arg-type]
               if s.got[leaf] is not None else False for s in samples)  # fmt: skip


FAR = 1e3  # where whatever is bounded has come to its bound


def saturates(case: Case, leaf: int) -> bool:
    """Whether the output stays on both sides, as between two bounds: autograd has that gradient, nobody writes it."""
    x = case.arguments.differentiable[leaf]
    if not reference.is_pointwise(case, leaf):
        return False
    try:
        ends = [[_joined(case, _moved(case.arguments, leaf, torch.full_like(x, sign * far))) for far in (FAR, 2 * FAR)]
                for sign in (-1.0, 1.0)]  # fmt: skip
    except Exception:  # forward refuses what is far
        return False
    return all(torch.equal(near, far) for near, far in ends) and not torch.equal(ends[0][0], ends[1][0])


def _is_gated(got: torch.Tensor | None, incoming: torch.Tensor) -> bool:
    if got is None or got.is_complex():
        return False
    try:
        incoming = incoming.sum_to_size(got.shape)  # as the engine does with a gradient that is too large
    except RuntimeError:
        return False
    open_ = got != 0
    ratios = got[open_] / incoming[open_]
    return not ratios.numel() or compare.same(ratios, ratios[0].expand_as(ratios), "single")


def leaks(case: Case, samples: Sequence[Sample], leaf: int, level: str) -> bool:
    """Whether forward has one slope or none, and what comes in is handed on otherwise where it has none."""
    if not reference.is_pointwise(case, leaf):
        return False
    inside, outside = [], []
    for sample in samples:
        got, expected = sample.got[leaf], sample.expected[leaf]
        incoming = next((g for g in sample.incoming if g is not None), None)
        if got is None or expected is None or incoming is None or not got.shape == expected.shape == incoming.shape:
            return False
        moving = expected != 0
        if bool((compare.wrong(got, expected, level) & moving).any()):
            return False
        inside.append((got / incoming)[moving])
        outside.append((got / incoming)[~moving & (got != 0)])
    slopes, leaked = torch.cat(inside), torch.cat(outside)
    if not slopes.numel() or not leaked.numel() or not torch.allclose(slopes, slopes[:1].expand_as(slopes)):
        return False
    return not bool(torch.isclose(leaked, slopes[:1].expand_as(leaked)).any())


def is_symmetric(samples: Sequence[Sample], leaf: int, level: str) -> bool:
    """Whether a matrix is symmetric wherever it was meant to be, and its gradient right in symmetric directions."""
    inside = [s for s in samples if s.point.inside]
    return bool(inside) and all(_right_in_symmetric_directions(s, leaf, level) for s in inside)


def _right_in_symmetric_directions(sample: Sample, leaf: int, level: str) -> bool:
    x, got, expected = sample.arguments.differentiable[leaf], sample.got[leaf], sample.expected[leaf]
    if x.ndim < 2 or x.shape[-1] != x.shape[-2] or x.shape[-1] < 2 or got is None or expected is None:
        return False
    if not torch.allclose(x, x.mT) or not got.shape == expected.shape == x.shape:
        return False
    return compare.same(got + got.mT, expected + expected.mT, level)


def is_attached(case: Case, leaf: int) -> bool:
    """Whether forward only hands other arguments through: what the leaf does, it does in backward."""
    x = case.arguments.differentiable[leaf]
    before = case.values(case.arguments)
    after = case.values(_moved(case.arguments, leaf, 3 * x + 1))
    others = [t for i, t in enumerate(case.arguments.differentiable) if i != leaf]
    handed = all(any(out.shape == t.shape and torch.equal(out, t) for t in others) for out in before)
    return bool(before) and handed and _equal(before, after)


def is_shaped_by_another(case: Case, sample: Sample, leaf: int) -> bool:
    """Whether a gradient depends on an argument that no output depends on: it is there for backward."""
    own = sample.arguments.diff[leaf]
    for place, value in enumerate(sample.arguments.leaves):
        if place != own and _is_number(value):
            flat = sample.arguments.leaves
            flat[place] = value * 1.7 + (0.3 if not isinstance(value, torch.Tensor) and value == 0 else 0)
            if _shapes_backward_alone(case, sample, sample.arguments.with_leaves(flat), leaf):
                return True
    return False


def _shapes_backward_alone(case: Case, sample: Sample, changed: Arguments, leaf: int) -> bool:
    try:
        outcome = case.run(changed, sample.incoming)
        same = _equal(case.values(sample.arguments), case.values(changed))
    except Exception:
        return False
    return outcome.ok and same and not compare.same(outcome.grads[leaf], sample.got[leaf], "half")


def _is_number(value: Any) -> bool:
    return tree.is_differentiable(value) if isinstance(value, torch.Tensor) else type(value) is float


def _equal(one: Sequence[torch.Tensor], two: Sequence[torch.Tensor]) -> bool:
    return len(one) == len(two) and all(torch.equal(a, b) for a, b in zip(one, two, strict=True))
