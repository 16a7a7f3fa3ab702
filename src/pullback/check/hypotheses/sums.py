"""Sums over the wrong axis, masks left out, contributions overwritten."""

from __future__ import annotations

import torch

from pullback.check.arguments import Arguments
from pullback.check.points import integers
from pullback.check.samples import Sample
from pullback.check.trouble import Cause, Trouble, filled


def wrong_axis(t: Trouble) -> Cause | None:
    """The sum is right, the parts are not."""
    leaf = t.samples[0].arguments.differentiable[t.leaf]
    if leaf.numel() < 2 or leaf.numel() >= max(out.numel() for out in t.samples[0].outputs):
        return None

    def total(tensor: torch.Tensor | None) -> torch.Tensor | None:
        return None if tensor is None else tensor.sum()

    if all(t.same(total(t.got(s)), total(t.expected(s))) for s in t.wrong):
        return Cause(
            "wrong-reduction-axis",
            f"the gradient of {t.name!r} has the right sum and the wrong parts: it is "
            "summed over another axis than the one along which it is shared",
            f"sum over the axes of the output that {t.name!r} is broadcast over",
        )
    return None


def unmasked(t: Trouble) -> Cause | None:
    """Right wherever the argument reaches the output."""
    dead = [s.expected[t.leaf] for s in t.samples]
    masks = [e == 0 for e in dead if e is not None]
    if not masks or not any(bool(m.any()) for m in masks) or all(bool(m.all()) for m in masks):
        return None

    def masked(sample: Sample) -> torch.Tensor | None:
        got, expected = t.got(sample), t.expected(sample)
        return None if got is None or expected is None else torch.where(expected == 0, torch.zeros_like(got), got)

    if t.mends(masked):
        return Cause(
            "mask-not-applied",
            f"elements of {t.name!r} that do not reach the output get a gradient; all others are right",
            "apply forward's mask to the gradient too",
        )
    return None


def overwritten(t: Trouble) -> Cause | None:
    """Right as long as every index occurs once."""
    indices = integers(t.case.arguments)
    duplicated = [i for i in indices if _has_duplicates(t.case.arguments.leaves[i])]
    if not duplicated:
        return None
    for sample in t.wrong[:2]:
        unique = _uniquely(sample.arguments, duplicated)
        outcome = t.case.run(unique, sample.incoming)
        expected = t.reference.gradients(unique, filled(sample, sample.incoming))[t.leaf]
        if not outcome.ok or not t.same(outcome.grads[t.leaf], expected):
            return None
    return Cause(
        "duplicate-index-overwrite",
        f"where an index occurs more than once only one contribution to the gradient of {t.name!r} survives",
        "accumulate: index_add_, scatter_add_ or index_put_(…, accumulate=True)",
    )


def _has_duplicates(index: torch.Tensor) -> bool:
    return index.numel() > torch.unique(index).numel()


def _uniquely(arguments: Arguments, positions: list[int]) -> Arguments:
    flat = arguments.leaves
    for position in positions:
        index = flat[position]
        flat[position] = torch.arange(index.numel(), dtype=index.dtype).reshape(index.shape).flip(-1)
    tensors = arguments.with_leaves(flat)
    largest = max(flat[p].numel() for p in positions)
    sizes = max((x.shape[0] for x in arguments.differentiable if x.ndim), default=0)
    return tensors if largest <= sizes else _first_rows(tensors, positions, sizes)


def _first_rows(arguments: Arguments, positions: list[int], size: int) -> Arguments:
    flat = arguments.leaves
    for position in positions:
        flat[position] = flat[position] % max(size, 1)
    return arguments.with_leaves(flat)
