"""The right gradient: the forward under autograd, a given function, or finite differences in float64."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from pullback._torch import TorchDispatchMode
from pullback.check import context, differences, sparsity, state, tree
from pullback.check.arguments import Arguments
from pullback.check.case import Case, Cotangents, drawn, pull

STEPS = ((1e-4, 1e-5), (1e-6, 1e-3), (1e-2, 2e-2))  # step, relative disagreement allowed


Gradients = Callable[[Arguments, Cotangents], list[torch.Tensor | None]]


@dataclass
class Reference:
    """A source of right gradients.

    ``gradients(arguments, incoming)`` gives one per differentiable leaf. ``level`` is the tolerance it deserves.
    ``doubts`` says of every element how far it can be trusted, where that is known. ``rows`` gives the gradients for
    many incoming gradients from one forward. For an argument that is too large for finite differences ``directions``
    are what it was moved along, and its gradient is known along these alone.
    """

    kind: str
    gradients: Gradients
    level: str = "exact"
    followed: Gradients | None = None
    doubts: Gradients | None = None
    rows: Callable[[Arguments, Sequence[Cotangents]], list[list[torch.Tensor | None]]] | None = None
    directions: Callable[[Arguments, int], list[torch.Tensor] | None] | None = None

    def seen(self, arguments: Arguments, grads: Sequence[torch.Tensor | None]) -> list[torch.Tensor | None]:
        """Gradients as this reference sees them: whole, or along its random directions."""
        if self.directions is None:
            return list(grads)
        return [_along_each(grad, self.directions(arguments, leaf)) for leaf, grad in enumerate(grads)]


def _along_each(grad: torch.Tensor | None, directions: list[torch.Tensor] | None) -> torch.Tensor | None:
    if grad is None or directions is None or any(d.shape != grad.shape for d in directions):
        return grad
    return torch.tensor([inner(grad, d) for d in directions], dtype=torch.float64)


def reference(case: Case) -> Reference:
    """The best reference that this target has; the report says which."""
    if case.given_reference is not None:
        rows = _by_autograd(case, case.given_reference)
        return Reference("given", _first_of(rows), precision(case), rows=rows)
    plain, followed = case.target.plain, None
    if plain is not None:
        truth = by_forward(case, plain)
        followed = truth.gradients
        if _agrees_with_differences(case, followed):
            return replace(truth, level=precision(case))
    return _by_differences(case, followed)


def by_forward(case: Case, plain: Callable[..., Any]) -> Reference:
    """Forward under autograd, as far as autograd sees it."""
    rows = _by_autograd(case, lambda *args: plain(context.Context((True,) * len(args)), *args))
    return Reference("autograd", _first_of(rows), rows=rows)


def precision(case: Case) -> str:
    """The tolerance level that the forward's own arithmetic allows."""
    dtypes = _dtypes(case)[0]
    if dtypes & {torch.float16, torch.bfloat16}:
        return "half"
    return "single" if dtypes & {torch.float32, torch.complex64} else "exact"


def is_exact(case: Case) -> bool:
    """Whether forward's values are those of float64: a smaller copy that is only kept for backward does not count."""
    return not _dtypes(case)[1] & {torch.float16, torch.bfloat16, torch.float32, torch.complex64}


def _dtypes(case: Case) -> tuple[set[torch.dtype], set[torch.dtype]]:
    """The dtypes of what forward makes, and of what it computes its outputs with."""
    if "forward_dtypes" not in case.facts:
        case.facts["forward_dtypes"] = _watched_dtypes(case)
    return case.facts["forward_dtypes"]  # type: ignore[no-any-return]


def _watched_dtypes(case: Case) -> tuple[set[torch.dtype], set[torch.dtype]]:
    made: set[torch.dtype] = set()
    used: set[torch.dtype] = set()

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            for found, tensors in ((made, result), (used, args)):
                found.update(t.dtype for t in tree.tensors(tensors) if tree.is_differentiable(t) and t.numel() > 1)
            return result

    try:
        with Watch():  # type: ignore[no-untyped-call]
            values = case.values(case.arguments)
    except Exception:
        return {torch.float64}, {torch.float64}
    ends = {value.dtype for value in values}
    return made | ends, used | ends


Rows = Callable[[Arguments, Sequence[Cotangents]], list[list[torch.Tensor | None]]]


def _by_autograd(case: Case, fn: Callable[..., Any]) -> Rows:
    def rows(arguments: Arguments, many: Sequence[Cotangents]) -> list[list[torch.Tensor | None]]:
        state.seed()
        leaves, passed = arguments.fresh()
        with torch.enable_grad():
            outputs = tree.tensors(fn(*passed))
            found = [pull(outputs, leaves, list(incoming), retain_graph=len(many) > 1) for incoming in many]
        return [[_or_zero(g, x) for g, x in zip(grads, leaves, strict=True)] for grads in found]

    return rows


def _or_zero(grad: torch.Tensor | None, x: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(x) if grad is None else grad.detach()


def _first_of(rows: Rows) -> Gradients:
    return lambda arguments, incoming: rows(arguments, [incoming])[0]


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
            directions = [_symmetric_like(x, random_like(x, 17 + attempt)) for x in arguments.differentiable]
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


TAYLOR = (2e-4, 1e-4)  # steps from which the order is read off


def taylor_order(case: Case, arguments: Arguments, incoming: Cotangents) -> float | None:
    """How the remainder of a linear model made of the target's gradient shrinks: 2 for a right one, 1 for a wrong one.

    None where there is no remainder to speak of, as for a linear function.
    """
    outcome, number = case.run(arguments, list(incoming)), weighted(case, incoming)
    directions = [random_like(x, 61 + k) for k, x in enumerate(arguments.differentiable)]
    claimed = sum(inner(g, d) for g, d in zip(outcome.grads, directions, strict=True))
    still, along = number(arguments), _along(number, arguments, directions)
    rest = [abs(along(h) - still - h * claimed) for h in TAYLOR]
    if min(rest) <= 1e-13 * max(abs(still), 1e-300):
        return None
    return math.log(rest[0] / rest[1]) / math.log(TAYLOR[0] / TAYLOR[1])


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
    return drawn(x.shape, x.dtype, seed)


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


SYMMETRIC = 1e-6  # relative: a product of float32 numbers is not more symmetric than that


def _symmetric_like(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    square = x.ndim >= 2 and x.shape[-1] == x.shape[-2] and x.shape[-1] > 1
    if square and bool((x - x.mT).abs().max() < SYMMETRIC * x.abs().max().clamp_min(1e-300)):
        return (y + y.mT) / 2
    return y


def _by_differences(case: Case, followed: Gradients | None) -> Reference:
    steps = precision(case)

    def gradients(arguments: Arguments, incoming: Cotangents) -> list[torch.Tensor | None]:
        whole = differences.gradients(case, arguments, incoming, steps)[0]
        return [_slopes(case, arguments, incoming, leaf) if grad is None else grad for leaf, grad in enumerate(whole)]

    def doubts(arguments: Arguments, incoming: Cotangents) -> list[torch.Tensor | None]:
        return differences.gradients(case, arguments, incoming, steps)[1]

    def rows(arguments: Arguments, many: Sequence[Cotangents]) -> list[list[torch.Tensor | None]]:
        return [differences.gradients(case, arguments, incoming, steps)[0] for incoming in many]

    def along(arguments: Arguments, leaf: int) -> list[torch.Tensor] | None:
        if differences.remembered(case, arguments, leaf, steps) is not None:
            return None
        return directions(case, arguments.differentiable[leaf])

    level = "differences" if steps == "exact" else steps
    return Reference("finite-differences", gradients, level, followed, doubts, rows, along)


def directions(case: Case, x: torch.Tensor) -> list[torch.Tensor]:
    """The random directions along which an argument is moved that has too many elements to move each."""
    allowed = differences.DIRECTIONS
    if case.evaluations is not None:
        allowed = min(allowed, max(1, case.evaluations // differences.PER_COLUMN))
    return [random_like(x, 101 + k) for k in range(allowed)]


def _slopes(case: Case, arguments: Arguments, incoming: Cotangents, leaf: int) -> torch.Tensor:
    """The slopes of the weighted output along random directions of one argument."""
    number = weighted(case, incoming)
    x = arguments.differentiable[leaf]
    still = [torch.zeros_like(t) for t in arguments.differentiable]
    size = differences.scale_of(x)

    def slope(direction: torch.Tensor) -> torch.Tensor:
        along = _along(number, arguments, [*still[:leaf], size * direction, *still[leaf + 1 :]])
        found, _ = differences.slopes_of(lambda h: [torch.tensor([along(h)], dtype=torch.float64)], precision(case))
        return found[0] / size

    return torch.cat([slope(direction) for direction in directions(case, x)])


def shifted(arguments: Arguments, index: int, flat: int, by: Any) -> Arguments:
    """The arguments with one element of one of them moved."""
    tensors = list(arguments.differentiable)
    changed = tensors[index].clone()
    changed.view(-1)[flat] += by
    tensors[index] = changed
    return arguments.with_differentiable(tensors)


def is_pointwise(case: Case, leaf: int) -> bool:
    """Whether every element of the outputs depends on the same element of an argument alone."""
    x = case.arguments.differentiable[leaf]
    if x.is_complex() or x.numel() < 2:
        return False
    found = sparsity.pattern(case, case.arguments, leaf)
    return found.is_pointwise and all(shape == x.shape for shape in found.outputs)
