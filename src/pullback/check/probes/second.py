"""The second derivative is that of the first, or asking for it raises."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from pullback.check import differences, reference, state, tree
from pullback.check.arguments import Arguments
from pullback.check.case import Case, cotangents, pull
from pullback.check.kept import kept
from pullback.check.report import Finding

NEEDS = "gradient"
ALLOWED = {"exact": 1e-4, "single": 1e-2, "half": 1e-1}  # relative; the truth is finite differences of the gradient


def probe(case: Case) -> Iterator[Finding]:
    """Differentiate the gradient along a random direction, by autograd and by differences."""
    if case.target.backward is not None and declared_once(case.target.backward):
        return
    arguments = reference.nudged(case.arguments, 29)
    directions = [reference.random_like(x, 31 + k) for k, x in enumerate(arguments.differentiable)]
    claimed = _claimed(case, arguments, directions)
    if claimed is None:
        return
    slope, attached = claimed
    truth, sure = _truth(case, arguments, directions)
    if not sure or abs(truth - slope) <= ALLOWED[reference.precision(case)] * max(abs(truth), abs(slope)) + 1e-7:
        return
    yield _intermediate(case, truth, slope) if attached else _detached(case, truth)


def declared_once(backward: Callable[..., Any]) -> bool:
    """Whether a backward is decorated with once_differentiable, alone or with others."""
    while backward is not None:
        code = getattr(backward, "__code__", None)
        if code is not None and "once_differentiable" in code.co_qualname:
            return True
        backward = getattr(backward, "__wrapped__", None)  # type: ignore[assignment]
    return False


def _claimed(case: Case, arguments: Arguments, directions: Sequence[torch.Tensor]) -> tuple[float, bool] | None:
    """The second derivative that autograd gives, and whether the gradient has a graph; None if asking raises."""
    state.seed()
    leaves, passed = arguments.fresh()
    try:
        outputs = tree.tensors(case.target.apply(*passed))
        incoming = [None if c is None else c.requires_grad_() for c in cotangents(outputs, 9)]
        grads = pull(outputs, leaves, incoming, create_graph=True)
        number = _paired(grads)
        if number is None or not number.requires_grad:
            return 0.0, False
        second = torch.autograd.grad(number, leaves, allow_unused=True)
    except Exception:  # a loud refusal is right
        return None
    return sum(reference.inner(h, d) for h, d in zip(second, directions, strict=True)), True


def _paired(grads: Sequence[torch.Tensor | None]) -> torch.Tensor | None:
    """One number made of all gradients."""
    parts = []
    for index, grad in enumerate(grads):
        if grad is not None:
            weight = reference.random_like(grad, 41 + index)
            parts.append((grad.conj() * weight).real.sum() if grad.is_complex() else (grad * weight).sum())
    return torch.stack(parts).sum() if parts else None


def _truth(case: Case, arguments: Arguments, directions: Sequence[torch.Tensor]) -> tuple[float, bool]:
    def number(step: float) -> float:
        outcome = case.run(reference.moved(arguments, directions, step), lambda outputs: cotangents(outputs, 9))
        if outcome.error is not None:
            raise outcome.error
        paired = _paired(outcome.grads)
        return 0.0 if paired is None else float(paired)

    level = reference.precision(case)
    wide, narrow = (reference.stencil(number, step) for step in differences.STEPS[level])
    return narrow, abs(wide - narrow) <= ALLOWED[level] * (abs(wide) + abs(narrow)) + 1e-7


def _intermediate(case: Case, truth: float, slope: float) -> Finding:
    inside = [item for item in kept(case) if item.role == "intermediate"]
    evidence = {"got": slope, "expected": truth}
    if inside or case.target.backward is None:
        return Finding(
            "double-backward-intermediate", "the second derivative is wrong without a word",
            cause="backward uses something computed in forward; autograd takes it for a constant",
            fix="recompute it from saved inputs in backward, return it as an output, or mark backward "
            "@once_differentiable", evidence=evidence,
        )  # fmt: skip
    return Finding(
        "second-derivative-wrong", "the second derivative is wrong without a word",
        cause="backward is not the differentiable function of its inputs that it seems (detach, .data, no_grad)",
        fix="make backward differentiable, or mark it @once_differentiable", evidence=evidence,
    )  # fmt: skip


def _detached(case: Case, truth: float) -> Finding:
    return Finding(
        "once-differentiable-missing", "the gradient has no graph: second derivatives are silently zero",
        cause="backward leaves autograd (no_grad, detach, .data, NumPy) and does not say so",
        fix="remove what detaches it, or mark backward @once_differentiable so that double backward raises",
        evidence={"got": 0.0, "expected": truth},
    )  # fmt: skip
