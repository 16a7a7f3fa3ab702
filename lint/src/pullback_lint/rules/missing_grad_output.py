"""Find gradients that no path of the data connects with the cotangent."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Element
from pullback_lint.problem import Problem

CODE = "PB201"


def check_function(function: Function) -> Iterator[Problem]:
    backward = function.backward
    if backward is None or function.is_surrogate or backward.role == "vjp":
        return
    name = backward.parameters[0].name if backward.parameters else backward.vararg or "grad_output"
    for _, elements in function.gradients:
        for index, element in enumerate(elements):
            if _lacks_cotangent(function, element):
                argument = function.inputs[index].name if index < len(function.inputs) else None
                yield Problem(
                    element.node,
                    f"this gradient does not contain `{name}`",
                    argument=argument,
                    fix=f"multiply by `{name}`",
                )


def _lacks_cotangent(function: Function, element: Element) -> bool:
    value = element.value
    if value.rooted("g.") or value.tags & {
        "none",
        "zero",
        "opaque",
        "global",
        "random",
        "numpy",
        "autograd-tuple",
        "list",
    }:
        return False
    if isinstance(element.node, ast.Starred) or (
        not value.tags & {"tensor", "arithmetic", "constant"} and not value.deps
    ):
        return False
    if value.tags <= {"plain"}:
        return False
    return bool(value.deps) or "constant" in value.tags
