"""Find gradients for inputs that are annotated, defaulted or called as plain numbers, flags or strings."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.queries import literal
from pullback_lint.problem import Problem

CODE = "PB103"


def check_function(function: Function) -> Iterator[Problem]:
    for index, parameter in enumerate(function.inputs):
        if not _is_plain(function, index):
            continue
        for element in function.gradients_of(index):
            if element.value.rooted("g.") and "none" not in element.value.tags:
                yield Problem(
                    element.node,
                    f"`{parameter.name}` is not a tensor and takes no gradient",
                    argument=parameter.name,
                    fix="return `None` in its place",
                )


def _is_plain(function: Function, index: int) -> bool:
    parameter = function.inputs[index]
    if parameter.annotation:
        return parameter.annotation in {"int", "float", "bool", "str"}
    if isinstance(literal(parameter.default), bool | str):
        return True
    return _called_with_literal(function, index)


def _called_with_literal(function: Function, index: int) -> bool:
    """Whether this file applies the Function, and always with a literal in this place."""
    calls = [
        call
        for call in function.module.calls
        if isinstance(call.func, ast.Attribute)
        and call.func.attr == "apply"
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == function.name
        and len(call.args) > index
        and not any(isinstance(argument, ast.Starred) for argument in call.args)
    ]
    return bool(calls) and all(isinstance(literal(call.args[index]), int | float | str) for call in calls)
