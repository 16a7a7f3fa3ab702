"""Nothing, one number and many are inputs alike: empty batches, zero-dimensional tensors, several elements."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from pullback.check import compare, reference, sparsity
from pullback.check.arguments import Arguments
from pullback.check.case import Case, cotangents, filled
from pullback.check.report import Finding

NEEDS = "gradient"
SEVERAL = "several elements"


def probe(case: Case) -> Iterator[Finding]:
    """Make a batch empty, make elements of a pointwise function numbers, and compare where forward runs."""
    for label, arguments in _cases(case):
        if not _runs(case, arguments):
            continue
        outcome = case.run(arguments)
        if outcome.error is not None:
            first = (str(outcome.error).splitlines() or [""])[0]
            yield Finding(
                "backward-raises", f"backward raises for {label}: {type(outcome.error).__name__}: {first[:160]}",
                cause="forward accepts it; backward takes for granted that there is an element, or a dimension",
                fix="let backward do what forward does there", evidence={"setting": label},
                level="error" if label == SEVERAL else "warning",
            )  # fmt: skip
            return
        yield from _compared(case, label, arguments, outcome.outputs, outcome.grads)


def _cases(case: Case) -> Iterator[tuple[str, Arguments]]:
    arguments = case.arguments
    leaves = range(len(arguments.diff))
    found = [sparsity.pattern(case, arguments, leaf) for leaf in leaves]
    sizes = {shape[0] for shape in (p.shape for p in found) if len(shape)}
    if len(sizes) == 1 and all(0 in p.steps or not len(p.shape) for p in found):
        yield "an empty batch", _first_cut(arguments, sizes.pop())
    if all(x.ndim == 0 for x in arguments.differentiable):  # numbers that were found by trial say nothing of tensors
        yield SEVERAL, arguments.with_differentiable([_spread(x) for x in arguments.differentiable])
    elif all(reference.is_pointwise(case, leaf) for leaf in leaves):
        numbers = [x.reshape(-1)[0].clone() for x in arguments.differentiable]
        yield "a zero-dimensional tensor", arguments.with_differentiable(numbers)


def _spread(x: torch.Tensor) -> torch.Tensor:
    return x + torch.linspace(-1, 1, 6, device=x.device).to(x.dtype).reshape(2, 3)


def _first_cut(arguments: Arguments, size: int) -> Arguments:
    def cut(leaf: object) -> object:
        batched = isinstance(leaf, torch.Tensor) and leaf.ndim and leaf.shape[0] == size
        return leaf[:0] if batched else leaf  # type: ignore[index]

    return arguments.map(cut)


def _runs(case: Case, arguments: Arguments) -> bool:
    try:
        values = case.values(arguments)
    except Exception:  # its right
        return False
    return bool(values) and all(bool(torch.isfinite(v).all()) for v in values)


def _compared(
    case: Case,
    label: str,
    arguments: Arguments,
    outputs: list[torch.Tensor],
    grads: list[torch.Tensor | None],
) -> Iterator[Finding]:
    truth = case.facts.get("reference")
    if truth is None or truth.kind == "finite-differences" or not case.facts.get("right"):
        return
    incoming = [g if o.requires_grad else None for o, g in zip(outputs, cotangents(outputs), strict=True)]
    try:
        expected = truth.gradients(arguments, filled(outputs, incoming))
    except Exception:
        return
    for name, got, right in zip(arguments.diff_names, grads, expected, strict=True):
        if not compare.same(got, right, truth.level):
            yield Finding(
                "wrong-derivative", f"the gradient of {name!r} is wrong for {label}", argument=name, level="warning",
                cause="backward treats it unlike forward", evidence=compare.worst(got, right) | {"setting": label}
                if right is not None and right.numel() else {"setting": label},
            )  # fmt: skip
