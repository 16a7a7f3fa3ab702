"""Low precision is enough: the gradient keeps its digits in float32 and stays in range in float16."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch

from pullback.check import reference, tree
from pullback.check.arguments import Arguments, double
from pullback.check.case import Case, Outcome, cotangents
from pullback.check.points import domain
from pullback.check.report import Finding

NEEDS = "gradient"
GRID = {
    "real": (-20.0, -18.0, -10.0, -5.0, -2.0, -1.0, -0.1, -1e-3, 1e-3, 0.1, 1.0, 2.0, 5.0, 10.0, 18.0, 20.0),
    "positive": (1e-4, 1e-3, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 18.0, 20.0),
    "unit": (1e-4, 1e-3, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999, 0.9999),
}
LOST = 1e-3  # relative error of a gradient in float32 that has lost its digits
OFFSET, LOST_FAR = 1e3, 1e-2  # a mean beside a spread of one, and the share of forward's values that is lost
LARGEST = 6e4  # just inside of float16


def probe(case: Case) -> Iterator[Finding]:
    """Compare the target's gradient in low precision with its own in float64, from the same numbers."""
    yield from _single(case)
    yield from _far_from_zero(case)
    yield from _half(case)


def _single(case: Case) -> Iterator[Finding]:
    for leaf, name in enumerate(case.arguments.diff_names):
        if not reference.is_pointwise(case, leaf):
            continue
        for arguments in _filled(case.arguments, leaf):
            place = _lost(case, arguments, leaf)
            if place is not None:
                x, got, right = place
                yield Finding(
                    "float32-cancellation", f"in float32 the gradient of {name!r} loses its digits at {x:g}: got "
                    f"{got:.3g}, right is {right:.3g}",
                    cause="a difference of nearly equal numbers, such as 1 - y, leaves only rounding errors",
                    fix="use a form without the difference, from the input rather than from the output",
                    argument=name, evidence={"at": x, "got": got, "expected": right},
                    level="note" if _eager_too(case, arguments, leaf, right) else "warning",
                )  # fmt: skip
                break


def _far_from_zero(case: Case) -> Iterator[Finding]:
    """Forward's values where the numbers that it reduces have a large mean: a variance of squares is lost there."""
    if case.facts.get("verdict") == "intent":  # what rounds may be a step off
        return
    for leaf, name in enumerate(case.arguments.diff_names):
        x = case.arguments.differentiable[leaf]
        if x.is_complex() or domain(x) == "unit" or reference.is_pointwise(case, leaf) or case.is_random:
            continue
        tensors = [t if t.is_complex() else t.float() for t in case.arguments.differentiable]
        tensors[leaf] = tensors[leaf] + OFFSET
        moved = case.arguments.with_differentiable(tensors)
        wide = moved.map(double).differentiable
        wide[leaf] = wide[leaf] * (1 + 1.2e-7 * reference.random_like(wide[leaf], 3).sign())
        high, near = (case.values(a) for a in (moved.map(double), moved.map(double).with_differentiable(wide)))
        low = case.values(moved.map(_float))
        errors = [_apart(a, b) for a, b in zip(low, high, strict=True)]
        if any(e > LOST_FAR and e > 20 * _apart(a, b) for e, a, b in zip(errors, near, high, strict=True)):
            yield Finding(
                "float32-cancellation", f"in float32 forward loses its digits where {name!r} has a mean of {OFFSET:g}: "
                f"its values are off by {max(errors):.1g} of the largest",
                cause="a difference of large, nearly equal numbers, such as mean(x²) - mean(x)²",
                fix="subtract the mean first: mean((x - mean(x))²)", argument=name,
                evidence={"at": OFFSET, "error": max(errors)}, level="warning",
            )  # fmt: skip
            return


def _apart(a: torch.Tensor, b: torch.Tensor) -> float:
    """The largest error, relative to the largest value; zero where something is not finite."""
    error = float((a.double() - b).abs().max() / b.abs().max().clamp_min(1e-300)) if _real(a) and b.numel() else 0.0
    return error if math.isfinite(error) else 0.0


def _filled(arguments: Arguments, leaf: int) -> Iterator[Arguments]:
    """The arguments with the grid laid out over the elements of one of them, as often as it takes."""
    x = arguments.differentiable[leaf]
    grid = torch.tensor(GRID[domain(x)], dtype=torch.float32)
    for start in range(0, len(grid), x.numel()):
        values = grid.roll(-start).repeat(-(-x.numel() // len(grid)))[: x.numel()].reshape(x.shape)
        tensors = [t.float() for t in arguments.differentiable]
        tensors[leaf] = values
        yield arguments.with_differentiable(tensors)


def _lost(case: Case, arguments: Arguments, leaf: int) -> tuple[float, float, float] | None:
    low = case.run(arguments.map(_float))
    high = case.run(arguments.map(double))
    moved = arguments.map(double)
    tensors = list(moved.differentiable)
    tensors[leaf] = tensors[leaf] * (1 + 1.2e-7)
    near = case.run(moved.with_differentiable(tensors))
    a, b, c = (outcome.grads[leaf] if outcome.ok else None for outcome in (low, high, near))
    if not _same_values(low, high):
        return None
    if a is None or b is None or c is None or not bool(torch.isfinite(a).all()):
        return None
    size = b.abs().clamp_min(1e-30)
    error, condition = (a.double() - b).abs() / size, (c - b).abs() / size
    lost = (error > LOST) & (error > 20 * condition) & (b.abs() > 1e-9) & torch.isfinite(low.outputs[0])
    if not bool(lost.any()):
        return None
    at = int(torch.where(lost, error, -1.0).reshape(-1).argmax())
    return tuple(float(t.reshape(-1)[at]) for t in (arguments.differentiable[leaf], a, b))  # type: ignore[return-value]


def _eager_too(case: Case, arguments: Arguments, leaf: int, right: float) -> bool:
    """Whether PyTorch's own derivative of the same forward loses as much: then it is no fault of this formula."""
    truth = case.facts.get("reference")
    if truth is None or truth.kind != "autograd":
        return False
    incoming = [None if c is None else c.float() for c in cotangents(case.run(arguments, backward=False).outputs)]
    grad = truth.gradients(arguments.map(_float), incoming)[leaf]
    return grad is not None and not bool(((grad.double() - right).abs() <= LOST * abs(right)).any())


def _same_values(low: Outcome, high: Outcome) -> bool:
    """Whether forward does the same in both dtypes; one that draws random numbers does not."""
    pairs = [(a.double(), b.double()) for a, b in zip(low.outputs, high.outputs, strict=True) if _real(a)]
    return all(bool(((a - b).abs() <= 1e-2 * b.abs() + 1e-6).all()) for a, b in pairs)


def _float(leaf: object) -> object:
    return leaf.float() if isinstance(leaf, torch.Tensor) and leaf.dtype is torch.float64 else leaf


def _half(case: Case) -> Iterator[Finding]:
    for value in (2e-3, 3e2):
        arguments = case.arguments.with_differentiable(
            [_sized(x, value, k) for k, x in enumerate(case.arguments.differentiable)]
        ).map(_to_half)
        low, high = case.run(arguments), case.run(arguments.map(double))
        if not low.ok or not high.ok or not all(bool(torch.isfinite(o).all()) for o in low.outputs if _real(o)):
            continue
        for name, a, b in zip(arguments.diff_names, low.grads, high.grads, strict=True):
            if a is not None and b is not None and bool((~torch.isfinite(a) & _fits(b)).any()):
                yield Finding(
                    "fp16-overflow", f"in float16 the gradient of {name!r} overflows at values of {value:g}, where it "
                    "is representable", cause="an intermediate value leaves the range of float16",
                    fix="compute in float32 for half inputs, or reorder so that nothing large is formed",
                    argument=name, evidence={"at": value}, level="warning",
                )  # fmt: skip
                return


def _fits(b: torch.Tensor) -> torch.Tensor:
    """Where a gradient is neither negligible nor too large for float16."""
    return (b.abs() > 1e-2) & (b.abs() < LARGEST)


def _real(tensor: torch.Tensor) -> bool:
    return tree.is_differentiable(tensor)


def _sized(x: torch.Tensor, value: float, seed: int) -> torch.Tensor:
    if x.is_complex():
        return x
    sign = torch.ones_like(x) if domain(x) != "real" else torch.sign(reference.random_like(x, seed))
    size = 0.5 + 0.5 * reference.random_like(x, seed + 50).abs()  # from 0.75 to 1.25: no two are the same
    return sign * value * size if domain(x) != "unit" or value < 1 else x


def _to_half(leaf: object) -> object:
    return leaf.half() if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() else leaf
