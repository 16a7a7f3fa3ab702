"""Compare the formulas of plain elementwise Functions with the derivative, on numbers and without running anything."""

from __future__ import annotations

from collections.abc import Iterator

from pullback_lint.model.formula import COTANGENT, Compared, agree, compare
from pullback_lint.model.function import Function
from pullback_lint.problem import Problem

CODE = "PB204"


def check_function(function: Function) -> Iterator[Problem]:
    if function.is_surrogate or not function.gradients:
        return
    compared = compare(function)
    _, elements = function.gradients[0]
    for item in compared:
        if item.is_wrong and not _is_explained(item, compared):
            name = function.inputs[item.place].name
            yield Problem(
                elements[item.place].node,
                f"this is not the derivative with respect to `{name}`{_how(item)}",
                argument=name,
                fix="derive the formula again, or declare the class with `# pullback: surrogate`",
            )


def _is_explained(item: Compared, compared: tuple[Compared, ...]) -> bool:
    """Whether another rule names the cause: the cotangent is missing, or it is another input's gradient."""
    if all(agree(got * COTANGENT, wanted) for got, wanted in zip(item.got, item.wanted, strict=True)):
        return True
    return any(other is not item and all(map(agree, item.got, other.wanted)) for other in compared)


def _how(item: Compared) -> str:
    """What the gradient lacks, if it is a constant factor."""
    if any(not got or not wanted for got, wanted in zip(item.got, item.wanted, strict=True)):
        return ""
    factors = [wanted / got for got, wanted in zip(item.got, item.wanted, strict=True)]
    if not all(agree(factor, factors[0]) for factor in factors):
        return ""
    return ": the sign is wrong" if agree(factors[0], -1) else f": a factor {factors[0]:.4g} is missing"
