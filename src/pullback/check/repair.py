"""Why a gradient is wrong: hypotheses, each tried by replaying backward or the reference with one thing changed.

A hypothesis is one small function; the table at the end says in which order they are tried. The first that makes the
error vanish at every point is the cause.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from pullback.check import compare, context, state, tree
from pullback.check.arguments import Arguments
from pullback.check.case import Case, pull
from pullback.check.points import integers
from pullback.check.reference import Reference
from pullback.check.samples import Sample


@dataclass(frozen=True)
class Cause:
    """A fault's name, why it happens and what to change."""

    name: str
    cause: str
    fix: str = ""


@dataclass(frozen=True)
class Trouble:
    """A wrong gradient: which leaf, and all samples."""

    case: Case
    reference: Reference
    leaf: int
    samples: list[Sample]
    wrong: list[Sample]
    declared: bool = False

    @property
    def name(self) -> str:
        """The argument's name."""
        return self.case.arguments.diff_names[self.leaf]

    @property
    def g(self) -> str:
        """What the author calls the incoming gradient."""
        return self.case.target.incoming

    def got(self, sample: Sample) -> torch.Tensor | None:
        """What the target gives for the leaf."""
        return sample.got[self.leaf]

    def expected(self, sample: Sample) -> torch.Tensor | None:
        """What it should give."""
        return sample.expected[self.leaf]

    def same(self, a: torch.Tensor | None, b: torch.Tensor | None) -> bool:
        """Whether two gradients agree as far as the reference deserves."""
        return compare.same(a, b, self.reference.level)

    def mimics(self, candidate: Callable[[Sample], torch.Tensor | None]) -> bool:
        """Whether ``candidate`` gives exactly what the target gives, in every sample that is wrong."""
        return self._everywhere(candidate, self.got)

    def mends(self, candidate: Callable[[Sample], torch.Tensor | None]) -> bool:
        """Whether ``candidate`` gives the right gradient in every sample that is wrong."""
        return self._everywhere(candidate, self.expected)

    def _everywhere(
        self, candidate: Callable[[Sample], torch.Tensor | None], goal: Callable[[Sample], torch.Tensor | None]
    ) -> bool:
        try:
            return all(self._hits(candidate(sample), goal(sample)) for sample in self.wrong)
        except Exception:  # the hypothesis cannot even be tried
            return False

    def _hits(self, a: torch.Tensor | None, b: torch.Tensor | None) -> bool:
        return a is not None and b is not None and self.same(a, b)

    def replay(self, sample: Sample, **change: Any) -> torch.Tensor | None:
        """Backward called by hand, with something changed."""
        incoming = change.pop("incoming", sample.incoming)
        return self.case.replay(sample.arguments, _filled(sample, incoming), **change)[self.leaf]


def _filled(sample: Sample, incoming: Any) -> list[torch.Tensor | None]:
    return [
        torch.zeros_like(out) if g is None and tree.is_differentiable(out) else g
        for out, g in zip(sample.outputs, incoming, strict=True)
    ]


# --- the incoming gradient ------------------------------------------------------------------------------------------


def _no_gradient(t: Trouble) -> Cause | None:
    if not all(compare.is_zero(t.got(s)) for s in t.wrong):
        return None
    return Cause(
        "param-grad-none",
        f"backward gives no gradient for {t.name!r} although the output depends on it",
        f"compute the gradient of {t.name!r} whenever ctx.needs_input_grad asks for it",
    )


def _ignored(t: Trouble) -> Cause | None:
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


def _scalarised(t: Trouble) -> Cause | None:
    outputs = t.wrong[0].outputs
    if all(out.numel() <= 1 for out in outputs):
        return None
    matched = False
    for sample in t.wrong:
        uniform = [None if g is None else torch.full_like(g, 1.7) for g in sample.incoming]
        outcome = t.case.run(sample.arguments, uniform)
        expected = t.reference.gradients(sample.arguments, _filled(sample, uniform))[t.leaf]
        if not outcome.ok or not t.same(outcome.grads[t.leaf], expected):
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


def _other_output_dropped(t: Trouble) -> Cause | None:
    for index, out in enumerate(t.wrong[0].outputs):
        if t.wrong[0].incoming[index] is None or len([g for g in t.wrong[0].incoming if g is not None]) < 2:
            continue

        def without(sample: Sample, index: int = index) -> list[torch.Tensor | None]:
            return [torch.zeros_like(g) if i == index and g is not None else g for i, g in enumerate(sample.incoming)]

        def right_without(sample: Sample, without: Callable[[Sample], Any] = without) -> torch.Tensor | None:
            return t.reference.gradients(sample.arguments, _filled(sample, without(sample)))[t.leaf]

        if t.mimics(right_without):
            which = "first second third fourth fifth".split()[index] if index < 5 else f"{index + 1}th"
            return Cause(
                "second-output-grad-dropped",
                f"the gradient that arrives for the {which} output ({list(out.shape)}) is not used for {t.name!r}",
                "add its contribution; an output that is not differentiable belongs in ctx.mark_non_differentiable",
            )
    return None


# --- a factor -------------------------------------------------------------------------------------------------------


def _factor(t: Trouble) -> Cause | None:
    factors = [compare.ratio(t.got(s), t.expected(s)) for s in t.wrong]
    if any(f is None or isinstance(f, complex) for f in factors):
        return None
    values = [float(f) for f in factors if f is not None and not isinstance(f, complex)]
    counts = [_count_of(value, sample, t) for value, sample in zip(values, t.wrong, strict=True)]
    if all(counts):
        return _averaged(t, values[0])
    if max(values) - min(values) > 1e-5 * abs(values[0]):
        return None
    if t.declared:
        return Cause("surrogate-scale-wrong", f"the gradient of {t.name!r} is {values[0]:.6g} times the intended one",
                     f"divide it by {values[0]:.6g}")
    if abs(values[0] + 1) < 1e-6:
        return Cause("wrong-derivative", f"the gradient of {t.name!r} has the wrong sign", "change its sign")
    return Cause("wrong-derivative", f"the gradient of {t.name!r} is {values[0]:.6g} times the right one",
                 f"divide it by {values[0]:.6g}")


def _count_of(value: float, sample: Sample, t: Trouble) -> bool:
    """Whether a factor is a number of elements, or one over it."""
    value = abs(value)
    if abs(value - 1) < 1e-9:
        return False
    sizes = {1}
    for tensor in [*sample.arguments.differentiable, *sample.outputs]:
        dims = [d for d in tensor.shape if d > 1]
        sizes |= {_product(part) for n in range(1, len(dims) + 1) for part in itertools.combinations(dims, n)}
    sizes.discard(1)
    return any(abs(value * n - 1) < 1e-6 or abs(value / n - 1) < 1e-6 for n in sizes)


def _product(numbers: tuple[int, ...]) -> int:
    total = 1
    for number in numbers:
        total *= number
    return total


def _averaged(t: Trouble, value: float) -> Cause:
    sample = t.wrong[0]
    leaf = sample.arguments.differentiable[t.leaf]
    scalar_output = all(out.numel() == 1 for out in sample.outputs if tree.is_differentiable(out))
    size = round(1 / abs(value)) if abs(value) < 1 else round(abs(value))
    done, instead = ("divided by", "no division") if abs(value) < 1 else ("multiplied by", "a division")
    if not scalar_output and leaf.numel() < max(out.numel() for out in sample.outputs):
        return Cause("param-grad-averaged",
                     f"the gradient of {t.name!r} is {done} {size}: the contributions of a shared parameter add up, "
                     "they are not averaged", "reduce with sum instead of mean")
    if scalar_output:
        return Cause("reduction-mismatch",
                     f"the gradient of {t.name!r} is {done} {size}: backward does not reduce as forward does "
                     f"({instead} is right here)", "let backward follow forward's reduction (sum or mean)")
    return Cause("wrong-derivative", f"the gradient of {t.name!r} is {done} {size}, a number of elements",
                 f"undo that factor of {size}")


# --- another tensor, another order ----------------------------------------------------------------------------------


def _swapped(t: Trouble) -> Cause | None:
    names = t.case.arguments.diff_names
    for other in range(len(names)):
        if other == t.leaf:
            continue

        def theirs(sample: Sample, other: int = other) -> torch.Tensor | None:
            return sample.expected[other]

        back = all(t.same(s.got[other], s.expected[t.leaf]) for s in t.wrong if s.got[other] is not None)
        if t.mimics(theirs) and back:
            return Cause("swapped-gradients", f"the gradients of {t.name!r} and {names[other]!r} are exchanged",
                         f"return them in the order of forward's arguments: {', '.join(names)}")
    return _rotated(t) or _halves(t)


def _rotated(t: Trouble) -> Cause | None:
    names = t.case.arguments.diff_names
    for other in range(len(names)):
        if other != t.leaf and t.mimics(lambda s, other=other: s.expected[other]):
            return Cause("swapped-gradients", f"what is returned for {t.name!r} is the gradient of {names[other]!r}",
                         f"return the gradients in the order of forward's arguments: {', '.join(names)}")
    return None


def _halves(t: Trouble) -> Cause | None:
    leaf = t.samples[0].arguments.differentiable[t.leaf]
    for dim in range(leaf.ndim):
        if leaf.shape[dim] % 2 == 0 and t.mimics(lambda s, dim=dim: _half_swapped(t.expected(s), dim)):
            return Cause("swapped-gradients", f"the two halves of the gradient of {t.name!r} along dim {dim} are "
                         "exchanged", "join them in the order in which forward splits")
    return None


def _half_swapped(tensor: torch.Tensor | None, dim: int) -> torch.Tensor | None:
    return None if tensor is None else tensor.roll(tensor.shape[dim] // 2, dim)


def _conjugate(t: Trouble) -> Cause | None:
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
        return Cause("complex-conj", f"a complex conjugate is missing in the gradient of {t.name!r}",
                     "use the conjugate (transpose) of what multiplies the incoming gradient: .conj(), .mH")
    return None


def _conj(tensor: torch.Tensor | None) -> torch.Tensor | None:
    return None if tensor is None else tensor.conj().resolve_conj()


def _transposed(t: Trouble) -> Cause | None:
    cause = Cause("missing-transpose", f"a transpose is missing in the gradient of {t.name!r}: square shapes hide it",
                  "transpose the matrix that multiplies the incoming gradient")
    if t.mends(lambda s: _mt(t.got(s))):
        return cause
    for position in range(_kept_count(t)):
        if t.mends(lambda s, p=position: t.replay(s, change=_nth(p, _mt_if_square))):
            return cause
    if t.mends(lambda s: t.replay(s, change=_mt_if_square)):
        return cause
    return None


def _mt(tensor: torch.Tensor | None) -> torch.Tensor | None:
    return tensor.mT if tensor is not None and tensor.ndim >= 2 else None


def _mt_if_square(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.mT if tensor.ndim >= 2 and tensor.shape[-1] == tensor.shape[-2] else tensor


def _nth(position: int, change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[torch.Tensor], torch.Tensor]:
    counter = itertools.count()

    def changed(tensor: torch.Tensor) -> torch.Tensor:
        return change(tensor) if next(counter) == position else tensor

    return changed


def _kept_count(t: Trouble) -> int:
    return len(_kept(t, t.samples[0].arguments))


def _kept(t: Trouble, arguments: Arguments) -> list[torch.Tensor]:
    if t.case.target.plain is None or t.case.target.backward is None:
        return []
    state.seed()
    ctx = context.Context(arguments.needs())
    with torch.no_grad():
        t.case.target.plain(ctx, *arguments.constant())
    kept = [*ctx.saved_tensors, *context.attributes(ctx).values()]
    return [x for x in kept if isinstance(x, torch.Tensor)]


def _inverse(t: Trouble) -> Cause | None:
    """The inverse of a linear map in place of its adjoint: forward of the gradient gives the incoming one back."""
    def there_and_back(sample: Sample) -> torch.Tensor | None:
        tensors = list(sample.arguments.differentiable)
        got = t.got(sample)
        if got is None or got.shape != tensors[t.leaf].shape:
            return None
        tensors[t.leaf] = got
        return t.case.values(sample.arguments.with_differentiable(tensors))[0]

    try:
        fits = all(
            (out := there_and_back(s)) is not None and t.same(out, s.incoming[0]) for s in t.wrong
        )
    except Exception:
        return None
    if not fits:
        return None
    return Cause("adjoint-vs-inverse", f"backward applies the inverse of forward to {t.g}; the gradient needs the "
                 "adjoint (the conjugate transpose), which differs from it by a factor here",
                 "use the adjoint: for an unnormalised transform of length N that is N times the inverse")


def _exchanged(t: Trouble) -> Cause | None:
    for a, b in itertools.permutations(range(_kept_count(t)), 2):
        def exchanged(sample: Sample, a: int = a, b: int = b) -> torch.Tensor | None:
            pool = _kept(t, sample.arguments)
            if pool[a].shape != pool[b].shape:
                return None
            return t.replay(sample, change=_nth(a, lambda _: pool[b]))

        if t.mends(exchanged):
            return Cause("wrong-derivative", f"the gradient of {t.name!r} is right with another saved tensor in the "
                         f"place of the {a + 1}. one (the {b + 1}.)", "use the other saved tensor")
    return _input_for_output(t)


def _input_for_output(t: Trouble) -> Cause | None:
    for position in range(_kept_count(t)):
        for source, pick in (("output", _outputs), ("input", _inputs)):
            for index in range(len(pick(t.samples[0]))):
                def given(sample: Sample, p: int = position, i: int = index, pick: Any = pick) -> torch.Tensor | None:
                    return t.replay(sample, change=_nth(p, lambda kept: _if_fits(kept, pick(sample)[i])))

                if t.mends(given):
                    return Cause("wrong-derivative", f"the gradient of {t.name!r} is right with an {source} in the "
                                 f"place of the {position + 1}. saved tensor", f"save that {source} instead")
    return None


def _outputs(sample: Sample) -> list[torch.Tensor]:
    return [out.detach() for out in sample.outputs]


def _inputs(sample: Sample) -> list[torch.Tensor]:
    return sample.arguments.differentiable


def _if_fits(kept: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    if kept.shape != other.shape or kept.dtype != other.dtype:
        raise LookupError("does not fit")
    return other


# --- sums and masks -------------------------------------------------------------------------------------------------


def _wrong_axis(t: Trouble) -> Cause | None:
    leaf = t.samples[0].arguments.differentiable[t.leaf]
    if leaf.numel() < 2 or leaf.numel() >= max(out.numel() for out in t.samples[0].outputs):
        return None

    def total(tensor: torch.Tensor | None) -> torch.Tensor | None:
        return None if tensor is None else tensor.sum()

    if all(t.same(total(t.got(s)), total(t.expected(s))) for s in t.wrong):
        return Cause("wrong-reduction-axis", f"the gradient of {t.name!r} has the right sum and the wrong parts: it is "
                     "summed over another axis than the one along which it is shared",
                     f"sum over the axes of the output that {t.name!r} is broadcast over")
    return None


def _unmasked(t: Trouble) -> Cause | None:
    dead = [s.expected[t.leaf] for s in t.samples]
    masks = [e == 0 for e in dead if e is not None]
    if not masks or not any(bool(m.any()) for m in masks) or all(bool(m.all()) for m in masks):
        return None

    def masked(sample: Sample) -> torch.Tensor | None:
        got, expected = t.got(sample), t.expected(sample)
        return None if got is None or expected is None else torch.where(expected == 0, torch.zeros_like(got), got)

    if t.mends(masked):
        return Cause("mask-not-applied", f"elements of {t.name!r} that do not reach the output get a gradient; all "
                     "others are right", "apply forward's mask to the gradient too")
    return None


def _overwritten(t: Trouble) -> Cause | None:
    indices = integers(t.case.arguments)
    duplicated = [i for i in indices if _has_duplicates(t.case.arguments.leaves[i])]
    if not duplicated:
        return None
    for sample in t.wrong[:2]:
        unique = _uniquely(sample.arguments, duplicated)
        outcome = t.case.run(unique, sample.incoming)
        expected = t.reference.gradients(unique, _filled(sample, sample.incoming))[t.leaf]
        if not outcome.ok or not t.same(outcome.grads[t.leaf], expected):
            return None
    return Cause("duplicate-index-overwrite", f"where an index occurs more than once only one contribution to the "
                 f"gradient of {t.name!r} survives", "accumulate: index_add_, scatter_add_ or index_put_(…, "
                 "accumulate=True)")


def _has_duplicates(index: torch.Tensor) -> bool:
    return index.numel() > index.unique().numel()


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


# --- parts of forward that backward does not see --------------------------------------------------------------------

REDUCTIONS = (
    "mean sum std var norm amax amin max min logsumexp prod median vector_norm std_mean var_mean cumsum aminmax"
).split()


class _Detached(torch.overrides.TorchFunctionMode):
    """Detaches the results of chosen calls while a forward runs."""

    def __init__(self, chosen: Callable[[int, str], bool]) -> None:
        super().__init__()
        self.chosen, self.calls = chosen, []
        self.count = itertools.count()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if not any(t.requires_grad for t in tree.tensors(result)):
            return result
        name = getattr(func, "__name__", "")
        index = next(self.count)
        self.calls.append(name)
        return tree.transform(_detach, result) if self.chosen(index, name) else result


def _detach(leaf: Any) -> Any:
    return leaf.detach() if isinstance(leaf, torch.Tensor) else leaf


def _without(t: Trouble, sample: Sample, chosen: Callable[[int, str], bool]) -> tuple[torch.Tensor | None, list[str]]:
    plain = t.case.target.plain
    if plain is None:
        raise LookupError("no forward to run")
    state.seed()
    leaves, passed = sample.arguments.fresh()
    mode = _Detached(chosen)
    with mode:
        result = plain(context.Context((True,) * len(passed)), *passed)
    grads = pull(tree.tensors(result), leaves, _filled(sample, sample.incoming))
    grad = grads[t.leaf]
    return (torch.zeros_like(leaves[t.leaf]) if grad is None else grad), mode.calls


def _constant_part(t: Trouble) -> Cause | None:
    try:
        calls = _without(t, t.wrong[0], lambda i, n: False)[1]
    except Exception:
        return None
    everything = [lambda i, n: n in REDUCTIONS] if any(c in REDUCTIONS for c in calls) else []
    if everything and t.mimics(lambda s: _without(t, s, everything[0])[0]):
        return _statistic(t, "its statistics")
    for index, name in enumerate(calls[:60]):
        if t.mimics(lambda s, k=index: _without(t, s, lambda i, n: i == k)[0]):
            statistic = name in REDUCTIONS or any(c in REDUCTIONS for c in _feeding(calls, index))
            if statistic and not _elementwise(t):
                return _statistic(t, f"`{name}`")
            return Cause("wrong-derivative", f"backward treats the result of `{name}` in forward as a constant: its "
                         f"term is missing in the gradient of {t.name!r}", f"add the term that comes through `{name}`")
    return None


def _feeding(calls: list[str], index: int) -> list[str]:
    return calls[max(0, index - 4) : index]


def _elementwise(t: Trouble) -> bool:
    sample = t.samples[0]
    return not any(name in REDUCTIONS for name in _without(t, sample, lambda i, n: False)[1])


def _statistic(t: Trouble, what: str) -> Cause:
    return Cause("statistic-treated-constant", f"backward treats {what} as a constant, but forward computes it from "
                 f"{t.name!r}", f"add the terms that come through {what}")


def _drawn_again(t: Trouble) -> Cause | None:
    if t.mends(lambda s: t.replay(s, rng="before")):
        return Cause("rng-not-saved", "backward draws new random numbers instead of those that forward used",
                     "save what forward drew with ctx.save_for_backward, or its generator state")
    return None


# --- declared intentions --------------------------------------------------------------------------------------------


def _gate(t: Trouble) -> Cause | None:
    if not t.declared:
        return None
    for sample in t.wrong:
        got, expected = t.got(sample), t.expected(sample)
        if got is None or expected is None or got.shape != expected.shape:
            return None
        different = compare.wrong(got, expected, t.reference.level)
        if not bool((~different).any()):
            continue
        return Cause("ste-gate-wrong", f"the gradient of {t.name!r} passes where the intention stops it, or the "
                     "reverse; elsewhere it is right", "let the condition in backward be that of the intention")
    return Cause("surrogate-scale-wrong", f"the gradient of {t.name!r} is not that of the declared intention",
                 "follow the intention's derivative")


TABLE: list[Callable[[Trouble], Cause | None]] = [
    _no_gradient,
    _ignored,
    _other_output_dropped,
    _scalarised,
    _drawn_again,
    _inverse,
    _factor,
    _swapped,
    _conjugate,
    _transposed,
    _overwritten,
    _unmasked,
    _wrong_axis,
    _gate,
    _constant_part,
    _exchanged,
]


def causes(trouble: Trouble) -> Iterator[Cause]:
    """Every hypothesis that holds, the most telling first."""
    for hypothesis in TABLE:
        try:
            cause = hypothesis(trouble)
        except Exception:  # noqa: S112 a hypothesis that cannot be tried explains nothing
            continue
        if cause is not None:
            yield cause


def cause(trouble: Trouble) -> Cause:
    """The cause of a wrong gradient."""
    return next(causes(trouble), None) or unexplained(trouble)


def unexplained(trouble: Trouble) -> Cause:
    """What can be said when no hypothesis holds."""
    return Cause(
        "wrong-derivative",
        f"the gradient of {trouble.name!r} is not the derivative of forward",
        "derive it again from forward",
    )
