"""The gradient is right but for a factor, or differs from a declared intention."""

from __future__ import annotations

import itertools

from pullback.check import compare, tree
from pullback.check.hypotheses import parts
from pullback.check.samples import Sample
from pullback.check.trouble import Cause, Trouble


def factor(t: Trouble) -> Cause | None:
    """Got and expected differ by a constant, or by a number of elements."""
    factors = [compare.ratio(t.got(s), t.expected(s)) for s in t.wrong]
    if any(f is None or isinstance(f, complex) for f in factors):
        return None
    values = [float(f) for f in factors if f is not None and not isinstance(f, complex)]
    counts = [_count_of(value, sample, t) for value, sample in zip(values, t.wrong, strict=True)]
    if all(counts) and (cause := _averaged(t, values[0])) is not None:
        return cause
    if max(values) - min(values) > 1e-5 * abs(values[0]):
        return None
    if t.declared:
        return Cause(
            "surrogate-scale-wrong",
            f"the gradient of {t.name!r} is {values[0]:.6g} times the intended one",
            f"divide it by {values[0]:.6g}",
        )
    if abs(values[0] + 1) < 1e-6:
        return Cause("wrong-derivative", f"the gradient of {t.name!r} has the wrong sign", "change its sign")
    return Cause(
        "wrong-derivative",
        f"the gradient of {t.name!r} is {values[0]:.6g} times the right one",
        f"divide it by {values[0]:.6g}",
    )


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


def _averaged(t: Trouble, value: float) -> Cause | None:
    """The count as a reduction that is not forward's; None where nothing is reduced and it is a number like any."""
    sample = t.wrong[0]
    leaf = sample.arguments.differentiable[t.leaf]
    scalar_output = all(out.numel() == 1 for out in sample.outputs if tree.is_differentiable(out))
    size = round(1 / abs(value)) if abs(value) < 1 else round(abs(value))
    done, instead = ("divided by", "no division") if abs(value) < 1 else ("multiplied by", "a division")
    if not scalar_output and leaf.numel() < max(out.numel() for out in sample.outputs):
        return Cause(
            "param-grad-averaged",
            f"the gradient of {t.name!r} is {done} {size}: the contributions of a shared parameter add up, "
            "they are not averaged",
            "reduce with sum instead of mean",
        )
    if scalar_output or _reduces(t, "mean" if value > 1 else "sum"):
        return Cause(
            "reduction-mismatch",
            f"the gradient of {t.name!r} is {done} {size}: backward does not reduce as forward does "
            f"({instead} is right here)",
            "let backward follow forward's reduction (sum or mean)",
        )
    return None


def _reduces(t: Trouble, how: str) -> bool:
    """Whether forward reduces in one way and in no other."""
    calls = {name for name in parts.calls(t, t.wrong[0]) if name in ("mean", "sum", "nanmean", "nansum")}
    return bool(calls) and all(name.endswith(how) for name in calls)


def gate(t: Trouble) -> Cause | None:
    """A declared intention is met at some elements and not at others, or nowhere."""
    if not t.declared:
        return None
    for sample in t.wrong:
        got, expected = t.got(sample), t.expected(sample)
        if got is None or expected is None or got.shape != expected.shape:
            return None
        different = compare.wrong(got, expected, t.reference.level)
        if not bool((~different).any()):
            continue
        return Cause(
            "ste-gate-wrong",
            f"the gradient of {t.name!r} passes where the intention stops it, or the reverse; elsewhere it is right",
            "let the condition in backward be that of the intention",
        )
    return Cause(
        "surrogate-scale-wrong",
        f"the gradient of {t.name!r} is not that of the declared intention",
        "follow the intention's derivative",
    )
