"""Sums over the wrong axis, masks left out, contributions overwritten."""

from __future__ import annotations

import torch

from pullback.check.arguments import Arguments
from pullback.check.hypotheses.adding import Adding
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

    telling = all(_adds_up(t.expected(s)) for s in t.wrong)  # what cancels has the right sum whatever it is
    if telling and all(t.same(total(t.got(s)), total(t.expected(s))) for s in t.wrong):
        return Cause(
            "wrong-reduction-axis",
            f"the gradient of {t.name!r} has the right sum and the wrong parts: it is "
            "summed over another axis than the one along which it is shared",
            f"sum over the axes of the output that {t.name!r} is broadcast over",
        )
    return None


def _adds_up(tensor: torch.Tensor | None) -> bool:
    return tensor is not None and bool(tensor.sum().abs() > CANCELS * tensor.abs().sum())


CANCELS = 1e-6  # a sum that is smaller than this share of its parts is zero


def unmasked(t: Trouble) -> Cause | None:
    """Right wherever the argument reaches the output."""
    if t.declared:  # then it is the gate of an intention that is wrong
        return None
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


OVERWRITTEN = Cause(
    "duplicate-index-overwrite",
    "where an index occurs more than once only one contribution to the gradient survives",
    "accumulate: index_add_, scatter_add_ or index_put_(…, accumulate=True)",
)


def overwritten(t: Trouble) -> Cause | None:
    """Right if what backward writes at indices is added instead, or as long as every index occurs once."""
    adding = Adding()
    if t.mends(lambda s: t.replay(s, under=adding)):
        return OVERWRITTEN
    return None if adding.used else _unless_distinct(t)


def _unless_distinct(t: Trouble) -> Cause | None:
    """Right as long as every index occurs once; for a backward whose writing is not seen."""
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
    return OVERWRITTEN


def elementwise(t: Trouble) -> Cause | None:
    """Right, if the Jacobian had nothing but its diagonal."""
    sample = t.samples[0]
    x, out = sample.arguments.differentiable[t.leaf], sample.outputs[0]
    if x.shape != out.shape or x.numel() > DIAGONAL or x.numel() < 2:
        return None

    def diagonal(sample: Sample) -> torch.Tensor | None:
        g = sample.incoming[0]
        return None if g is None else g * _diagonal(t, sample)

    if t.mimics(diagonal):
        return Cause(
            "elementwise-jacobian",
            f"backward multiplies {t.g} by the diagonal of the Jacobian alone: elements of the output depend on "
            f"other elements of {t.name!r} too",
            f"multiply {t.g} by the whole Jacobian; for a softmax that is y * (g - (g * y).sum(-1, keepdim=True))",
        )
    return None


DIAGONAL = 128  # elements up to which the Jacobian's diagonal is formed, one backward pass each


def _diagonal(t: Trouble, sample: Sample) -> torch.Tensor:
    entries = []
    for flat in range(sample.outputs[0].numel()):
        unit = torch.zeros_like(sample.outputs[0]).detach()
        unit.view(-1)[flat] = 1
        incoming = [unit, *[None if g is None else torch.zeros_like(g) for g in sample.incoming[1:]]]
        grad = t.reference.gradients(sample.arguments, filled(sample, incoming))[t.leaf]
        entries.append(grad.reshape(-1)[flat] if grad is not None else unit.new_zeros(()))
    return torch.stack(entries).reshape(sample.outputs[0].shape)


def _has_duplicates(index: torch.Tensor) -> bool:
    return bool(index.numel() > torch.unique(index).numel())


def _uniquely(arguments: Arguments, positions: list[int]) -> Arguments:
    flat = arguments.leaves
    for position in positions:
        index = flat[position]
        flat[position] = _distinct(index)
    tensors = arguments.with_leaves(flat)
    largest = max(flat[p].numel() for p in positions)
    sizes = max((n for x in arguments.differentiable for n in x.shape), default=0)
    return tensors if largest <= sizes else _first_rows(tensors, positions, sizes)


def _distinct(index: torch.Tensor) -> torch.Tensor:
    """Indices of which none occurs twice along the last dimension."""
    if index.ndim <= 1:
        return torch.arange(index.numel(), dtype=index.dtype).reshape(index.shape).flip(-1)
    return torch.arange(index.shape[-1], dtype=index.dtype).expand(index.shape).clone()


def _first_rows(arguments: Arguments, positions: list[int], size: int) -> Arguments:
    flat = arguments.leaves
    for position in positions:
        flat[position] = flat[position] % max(size, 1)
    return arguments.with_leaves(flat)
