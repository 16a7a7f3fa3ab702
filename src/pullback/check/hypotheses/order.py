"""The right numbers at the wrong place: swapped, not conjugated, not transposed, the inverse for the adjoint."""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch

from pullback.check.hypotheses.exchange import kept_count, nth
from pullback.check.samples import Sample
from pullback.check.trouble import Cause, Trouble


def swapped(t: Trouble) -> Cause | None:
    """What is returned is another argument's gradient."""
    names = t.case.arguments.diff_names
    for other in range(len(names)):
        if other == t.leaf:
            continue

        def theirs(sample: Sample, other: int = other) -> torch.Tensor | None:
            return sample.expected[other]

        back = all(t.same(s.got[other], s.expected[t.leaf]) for s in t.wrong if s.got[other] is not None)
        if t.mimics(theirs) and back:
            return Cause(
                "swapped-gradients",
                f"the gradients of {t.name!r} and {names[other]!r} are exchanged",
                f"return them in the order of forward's arguments: {', '.join(names)}",
            )
    return _rotated(t)


def _rotated(t: Trouble) -> Cause | None:
    names = t.case.arguments.diff_names
    for other in range(len(names)):
        if other != t.leaf and t.mimics(functools.partial(_expected_of, other)):
            return Cause(
                "swapped-gradients",
                f"what is returned for {t.name!r} is the gradient of {names[other]!r}",
                f"return the gradients in the order of forward's arguments: {', '.join(names)}",
            )
    return None


def halves(t: Trouble) -> Cause | None:
    """The two halves of a gradient are exchanged."""
    leaf = t.samples[0].arguments.differentiable[t.leaf]
    for dim in range(leaf.ndim):
        if leaf.shape[dim] % 2 == 0 and t.mimics(functools.partial(_half_swapped, t, dim)):
            return Cause(
                "swapped-gradients",
                f"the two halves of the gradient of {t.name!r} along dim {dim} are exchanged",
                "join them in the order in which forward splits",
            )
    return None


def _expected_of(other: int, sample: Sample) -> torch.Tensor | None:
    return sample.expected[other]


def _transposed_at(t: Trouble, position: int, sample: Sample) -> torch.Tensor | None:
    return t.replay(sample, change=nth(position, _mt_if_square))


def _half_swapped(t: Trouble, dim: int, sample: Sample) -> torch.Tensor | None:
    tensor = t.expected(sample)
    return None if tensor is None else tensor.roll(tensor.shape[dim] // 2, dim)


def conjugate(t: Trouble) -> Cause | None:
    """A conjugate mends it."""
    everything = [*t.samples[0].arguments.differentiable, *t.samples[0].outputs]
    if not any(x.is_complex() for x in everything):
        return None
    tries: list[Callable[[Sample], torch.Tensor | None]] = [
        lambda s: _conj(t.got(s)),
        lambda s: t.replay(s, change=lambda kept: kept.conj().resolve_conj()),
        lambda s: _conj(t.replay(s, incoming=[None if g is None else g.conj().resolve_conj() for g in s.incoming])),
        lambda s: t.replay(s, incoming=[None if g is None else g.conj().resolve_conj() for g in s.incoming]),
    ]
    if any(t.mends(candidate) for candidate in tries):
        return Cause(
            "complex-conj",
            f"a complex conjugate is missing in the gradient of {t.name!r}",
            "use the conjugate (transpose) of what multiplies the incoming gradient: .conj(), .mH",
        )
    return None


def _conj(tensor: torch.Tensor | None) -> torch.Tensor | None:
    return None if tensor is None else tensor.conj().resolve_conj()


def transposed(t: Trouble) -> Cause | None:
    """A transpose mends it."""
    cause = Cause(
        "missing-transpose",
        f"a transpose is missing in the gradient of {t.name!r}: square shapes hide it",
        "transpose the matrix that multiplies the incoming gradient",
    )
    if t.mends(lambda s: _mt(t.got(s))):
        return cause
    for position in range(kept_count(t)):
        if t.mends(functools.partial(_transposed_at, t, position)):
            return cause
    if t.mends(lambda s: t.replay(s, change=_mt_if_square)):
        return cause
    return None


def _mt(tensor: torch.Tensor | None) -> torch.Tensor | None:
    return tensor.mT if tensor is not None and tensor.ndim >= 2 else None


def _mt_if_square(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.mT if tensor.ndim >= 2 and tensor.shape[-1] == tensor.shape[-2] else tensor


SIZES = (1.0, 1e-3)  # what is linear is so for small ones, too


def inverse(t: Trouble) -> Cause | None:
    """The inverse of a linear map in place of its adjoint: forward of the gradient gives the incoming one back."""

    def there_and_back(sample: Sample, size: float) -> torch.Tensor | None:
        tensors = list(sample.arguments.differentiable)
        got = t.got(sample)
        if got is None or got.shape != tensors[t.leaf].shape or got.numel() != sample.outputs[0].numel():
            return None  # a map onto fewer or more numbers has no inverse
        tensors[t.leaf] = size * got
        return t.case.values(sample.arguments.with_differentiable(tensors))[0] / size

    try:
        fits = all((out := there_and_back(s, size)) is not None and t.same(out, s.incoming[0])
                   for s in t.wrong for size in SIZES)  # fmt: skip
    except Exception:
        return None
    if not fits:
        return None
    return Cause(
        "adjoint-vs-inverse",
        f"backward applies the inverse of forward to {t.g}; the gradient needs the "
        "adjoint (the conjugate transpose), which differs from it by a factor here",
        "use the adjoint: for an unnormalised transform of length N that is N times the inverse",
    )


def itself(t: Trouble) -> Cause | None:
    """A linear forward applied to the incoming gradient where its adjoint is needed."""

    def forward_of(size: float, sample: Sample) -> torch.Tensor | None:
        tensors, incoming = list(sample.arguments.differentiable), sample.incoming[0]
        if incoming is None or incoming.shape != tensors[t.leaf].shape or len(sample.outputs) != 1:
            return None
        tensors[t.leaf] = size * incoming
        return t.case.values(sample.arguments.with_differentiable(tensors))[0] / size

    if not all(t.mimics(functools.partial(forward_of, size)) for size in SIZES):
        return None
    return Cause(
        "wrong-derivative",
        f"backward applies forward itself to {t.g}; the gradient needs its adjoint (the transposed map)",
        "turn the direction round: a cumulative sum runs backwards, a rotation by the negative angle, a shift back, "
        "gather becomes scatter, a matrix is transposed",
    )
