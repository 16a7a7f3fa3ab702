"""The right gradient: the forward under autograd, a given function, or finite differences in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from pullback._torch import TorchDispatchMode
from pullback.check import context, state, tree
from pullback.check.arguments import Arguments
from pullback.check.case import Case, Cotangents, pull

ELEMENTS = 400  # finite differences by element up to here, by random direction beyond
STEPS = ((1e-4, 1e-5), (1e-6, 1e-3), (1e-2, 2e-2))  # step, relative disagreement allowed


@dataclass
class Reference:
    """A source of right gradients.

    ``gradients(arguments, incoming)`` gives one per differentiable leaf. ``level`` is the tolerance it deserves.
    """

    kind: str
    gradients: Callable[[Arguments, Cotangents], list[torch.Tensor | None]]
    level: str = "exact"
    followed: Callable[[Arguments, Cotangents], list[torch.Tensor | None]] | None = None


def reference(case: Case) -> Reference:
    """The best reference that this target has; the report says which."""
    if case.given_reference is not None:
        return Reference("given", _by_autograd(case, case.given_reference), precision(case))
    plain, by_autograd = case.target.plain, None
    if plain is not None:
        by_autograd = _by_autograd(case, lambda *args: plain(context.Context((True,) * len(args)), *args))
        if _agrees_with_differences(case, by_autograd):
            return Reference("autograd", by_autograd, precision(case))
    return Reference("finite-differences", _by_differences(case), "differences", by_autograd)


def precision(case: Case) -> str:
    """The tolerance level that the forward's own arithmetic allows."""
    dtypes = case.facts.get("forward_dtypes")
    if dtypes is None:
        dtypes = case.facts["forward_dtypes"] = _dtypes(case)
    if dtypes & {torch.float16, torch.bfloat16}:
        return "half"
    return "single" if dtypes & {torch.float32, torch.complex64} else "exact"


def _dtypes(case: Case) -> set[torch.dtype]:
    found: set[torch.dtype] = set()

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            found.update(t.dtype for t in tree.tensors(result) if tree.is_differentiable(t) and t.numel() > 1)
            return result

    try:
        with Watch():  # type: ignore[no-untyped-call]
            values = case.values(case.arguments)
    except Exception:
        return {torch.float64}
    return found | {value.dtype for value in values}


def _by_autograd(case: Case, fn: Callable[..., Any]) -> Callable[[Arguments, Cotangents], list[torch.Tensor | None]]:
    def gradients(arguments: Arguments, incoming: Cotangents) -> list[torch.Tensor | None]:
        state.seed()
        leaves, passed = arguments.fresh()
        with torch.enable_grad():
            outputs = tree.tensors(fn(*passed))
            grads = pull(outputs, leaves, list(incoming))
        return [torch.zeros_like(x) if g is None else g.detach() for g, x in zip(grads, leaves, strict=True)]

    return gradients


def weighted(case: Case, incoming: Cotangents) -> Callable[[Arguments], float]:
    """The number whose gradient is asked for: the outputs weighted by the incoming gradients."""
    weights = [c for c in incoming if c is not None]

    def number(arguments: Arguments) -> float:
        total = 0.0
        for out, weight in zip(case.values(arguments), weights, strict=False):
            total += float((out.conj() * weight).real.sum() if out.is_complex() else (out * weight).sum())
        return total

    return number


def _agrees_with_differences(
    case: Case, gradients: Callable[[Arguments, Cotangents], list[torch.Tensor | None]]
) -> bool:
    """Whether the forward under autograd tells the truth: a detached or opaque part would hide from it."""
    incoming = cotangent_like(case)
    number = weighted(case, incoming)
    for attempt, (step, allowed) in enumerate(STEPS):
        arguments = nudged(case.arguments, 7 + attempt)
        try:
            grads = gradients(arguments, incoming)
            directions = [random_like(x, 17 + attempt) for x in arguments.differentiable]
            slope = stencil(_along(number, arguments, directions), step)
        except Exception:
            return False
        claimed = sum(inner(g, d) for g, d in zip(grads, directions, strict=True))
        size = sum(float((g.abs() * d.abs()).sum()) for g, d in zip(grads, directions, strict=True) if g is not None)
        if abs(slope - claimed) <= allowed * max(size, abs(slope)) + 1e-9 / step * 1e-4:
            return True
    return False


def _along(
    number: Callable[[Arguments], float], arguments: Arguments, directions: Sequence[torch.Tensor]
) -> Callable[[float], float]:
    return lambda step: number(moved(arguments, directions, step))


def cotangent_like(case: Case, seed: int = 0) -> list[torch.Tensor | None]:
    """Random incoming gradients for the target's outputs."""
    from pullback.check.case import cotangents

    outputs = case.base.outputs or tree.tensors(case.target.apply(*case.arguments.constant()))
    return cotangents(outputs, seed)


def stencil(fn: Callable[[float], float], step: float) -> float:
    """The slope at zero by four points; the error is of fourth order in ``step``."""
    return (8 * (fn(step) - fn(-step)) - (fn(2 * step) - fn(-2 * step))) / (12 * step)


def inner(a: torch.Tensor | None, b: torch.Tensor) -> float:
    """The real inner product of a gradient and a direction."""
    if a is None:
        return 0.0
    return float((a.conj() * b).real.sum() if a.is_complex() or b.is_complex() else (a * b).sum())


def random_like(x: torch.Tensor, seed: int) -> torch.Tensor:
    """A random direction whose entries are of the size of one."""
    generator = torch.Generator().manual_seed(seed)
    real = torch.rand(x.shape, generator=generator, dtype=torch.float64) * 2 - 1
    if x.is_complex():
        return torch.complex(real, torch.rand(x.shape, generator=generator, dtype=torch.float64) * 2 - 1).to(x.dtype)
    return real.to(x.dtype)


def moved(arguments: Arguments, directions: Sequence[torch.Tensor], step: float) -> Arguments:
    """The arguments a step along the directions."""
    return arguments.with_differentiable(
        [x + step * d for x, d in zip(arguments.differentiable, directions, strict=True)]
    )


def nudged(arguments: Arguments, seed: int = 7, size: float = 0.01) -> Arguments:
    """The arguments moved a little, off ties and kinks, each within its domain."""
    new = []
    for k, x in enumerate(arguments.differentiable):
        change = random_like(x, seed + k)
        moved_x = x * (1 + size * change.real if x.is_complex() else 1 + size * change)
        free = torch.where(x == 0, size * change, torch.zeros_like(x)) if _both_signs(x) else torch.zeros_like(x)
        new.append(_symmetric_like(x, moved_x + free))
    return arguments.with_differentiable(new)


def _both_signs(x: torch.Tensor) -> bool:
    return x.is_complex() or bool((x < 0).any()) or not bool((x != 0).any())


def _symmetric_like(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    square = x.ndim >= 2 and x.shape[-1] == x.shape[-2] and x.shape[-1] > 1
    if square and bool((x - x.mT).abs().max() < 1e-12 * x.abs().max().clamp_min(1e-300)):
        return (y + y.mT) / 2
    return y


def _by_differences(case: Case) -> Callable[[Arguments, Cotangents], list[torch.Tensor | None]]:
    limit = case.evaluations or ELEMENTS

    def gradients(arguments: Arguments, incoming: Cotangents) -> list[torch.Tensor | None]:
        number = weighted(case, incoming)
        found: list[torch.Tensor | None] = []
        for index, x in enumerate(arguments.differentiable):
            quick = pointwise(case, arguments, incoming, index)
            if quick is not None:
                found.append(quick)
            elif x.numel() <= limit:
                found.append(_by_element(arguments, number, index))
            else:
                found.append(None)
        return found

    return gradients


def _by_element(arguments: Arguments, number: Callable[[Arguments], float], index: int) -> torch.Tensor:
    x = arguments.differentiable[index]
    grad = torch.zeros_like(x)
    for flat in range(x.numel()):
        for unit in (1.0, 1j) if x.is_complex() else (1.0,):
            slope = _careful(lambda t, f=flat, u=unit: number(_shifted(arguments, index, f, t * u)))  # type: ignore[misc]
            grad.reshape(-1)[flat] += slope * unit
    return grad


def _careful(fn: Callable[[float], float]) -> float:
    """A slope that a kink or a jump nearby does not spoil: two steps must agree."""
    wide, narrow = stencil(fn, 1e-3), stencil(fn, 1e-4)
    if abs(wide - narrow) <= 1e-6 * (abs(wide) + abs(narrow)) + 1e-10:
        return wide
    return (fn(1e-6) - fn(-1e-6)) / 2e-6 if abs(wide - narrow) > 1e-3 * (abs(wide) + abs(narrow)) else narrow


def _shifted(arguments: Arguments, index: int, flat: int, by: Any) -> Arguments:
    tensors = list(arguments.differentiable)
    changed = tensors[index].clone()
    changed.view(-1)[flat] += by
    tensors[index] = changed
    return arguments.with_differentiable(tensors)


def pointwise(case: Case, arguments: Arguments, incoming: Cotangents, index: int) -> torch.Tensor | None:
    """All elements at once, where every output element depends on the same element of the argument alone."""
    x = arguments.differentiable[index]
    weights = [c for c in incoming if c is not None]
    if x.is_complex() or x.numel() < 2 or any(w.shape != x.shape for w in weights):
        return None

    def at(step: Any) -> list[torch.Tensor]:
        tensors = list(arguments.differentiable)
        tensors[index] = x + step
        return case.values(arguments.with_differentiable(tensors))

    if not _separate(at, x):
        return None
    wide, narrow = (_slopes(at, weights, step) for step in (1e-3, 1e-4))
    close = (wide - narrow).abs() <= 1e-6 * (wide.abs() + narrow.abs()) + 1e-10
    if bool(close.all()):
        return wide
    tiny = sum(w * (p - m) / 2e-6 for w, p, m in zip(weights, at(1e-6), at(-1e-6), strict=True))
    return torch.where(close, wide, torch.as_tensor(tiny))


def _separate(at: Callable[[Any], list[torch.Tensor]], x: torch.Tensor) -> bool:
    """Whether outputs stay put where their own element does, with every other element moved, and the reverse."""
    even = (torch.arange(x.numel()) % 2 == 0).reshape(x.shape)
    still = at(0.0)
    for moving in (even, ~even):
        after = at(1e-3 * moving.to(x.dtype))
        if not all(torch.equal(a[~moving], b[~moving]) for a, b in zip(still, after, strict=True)):
            return False
    return True


def _slopes(at: Callable[[Any], list[torch.Tensor]], weights: Sequence[torch.Tensor], h: float) -> torch.Tensor:
    points = zip(weights, at(h), at(-h), at(2 * h), at(-2 * h), strict=True)
    return torch.stack([w * (8 * (a - b) - (c - d)) / (12 * h) for w, a, b, c, d in points]).sum(0)
