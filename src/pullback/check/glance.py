"""One comparison of values, for when a check must cost next to nothing: no other points, no other probes, no cause."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from pullback import _tolerances
from pullback.check import context, reference, state, tree
from pullback.check.arguments import Arguments, arguments, double
from pullback.check.case import Case, Cotangents, cotangents, pull
from pullback.check.target import Target

STEP, ALLOWED = 1e-6, 1e-5  # of one difference along a random direction, and its relative error


def is_right(target: Target, values: tuple[Any, ...]) -> bool:
    """Whether the gradient is certainly the derivative of forward at these arguments, entry by entry.

    Two gradients are compared, that of backward and that of forward under autograd; a difference quotient confirms
    that autograd sees all of forward. False where they differ, and where it cannot be told so quickly: then
    `battery.examine` says more.
    """
    if target.plain is None:
        return False
    given = arguments(target, values)
    with state.restored():
        case = Case(target, given, given.map(double))
        try:
            return _agrees(case)
        except Exception:  # what raises is for the battery to explain
            return False


def _agrees(case: Case) -> bool:
    given, plain = case.arguments, case.target.plain
    assert plain is not None  # asked before
    leaves, outputs = _called(given, case.target.apply)
    others, truth = _called(given, functools.partial(plain, context.Context(given.needs())))
    incoming = [g if o.requires_grad else None for o, g in zip(outputs, cotangents(outputs), strict=True)]
    own = [None if g is None else g.clone() for g in incoming]  # backward may spoil what it is given
    grads = pull(outputs + truth, leaves + others, own + incoming)  # one pass of the engine for both
    got, expected = grads[: len(leaves)], grads[len(leaves) :]
    near = all(_near(g, e) for g, e in zip(got, expected, strict=True))
    return near and _confirmed(case, outputs, incoming, expected)


def _called(given: Arguments, fn: Callable[..., Any]) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Fresh leaves, and what a function makes of them."""
    state.seed()
    leaves, passed = given.fresh()
    return leaves, tree.tensors(fn(*passed))


def _near(got: torch.Tensor | None, expected: torch.Tensor | None) -> bool:
    """Whether two gradients differ by rounding alone: then no entry behind any of their sums is wrong by 1e-6."""
    if got is None or expected is None or got.shape != expected.shape:
        return False
    rtol, share = _tolerances.ROUNDING
    error, largest = got - expected, torch.linalg.vector_norm(expected, torch.inf)
    if bool(torch.linalg.vector_norm(error, torch.inf) <= share * largest):
        return True
    return bool((error.abs() <= rtol * expected.abs() + share * largest).all())


def _confirmed(
    case: Case, outputs: list[torch.Tensor], incoming: Cotangents, expected: list[torch.Tensor | None]
) -> bool:
    """Whether forward changes along a random direction as its gradient says."""
    directions = [reference.random_like(x, 17) for x in case.arguments.differentiable]
    state.seed()
    with torch.no_grad():
        moved = tree.tensors(case.target.apply(*reference.moved(case.arguments, directions, STEP).values))
    pairs = zip(moved, outputs, incoming, strict=True)
    slope = sum(reference.inner(g, after - before.detach()) for after, before, g in pairs if g is not None) / STEP
    parts = [reference.inner(g, d) for g, d in zip(expected, directions, strict=True)]
    return abs(slope - sum(parts)) <= ALLOWED * max(abs(slope), *map(abs, parts))
