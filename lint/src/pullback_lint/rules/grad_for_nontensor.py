"""Find gradients for inputs that are annotated, defaulted or called as plain numbers, flags or strings."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.queries import literal
from pullback_lint.model.tables import words
from pullback_lint.model.value import Value
from pullback_lint.problem import Problem

CODE = "PB103"


def check_function(function: Function) -> Iterator[Problem]:
    for index, parameter in enumerate(function.inputs):
        if not _is_plain(function, index):
            continue
        for element in function.gradients_of(index):
            if _is_given(element.value):
                yield Problem(
                    element.node,
                    f"`{parameter.name}` is not a tensor and takes no gradient",
                    argument=parameter.name,
                    fix="return `None` in its place",
                )


_PLAIN_NAMES = words("dim axis dims keepdim stride padding dilation groups eps kernel_size num_heads n_heads")


def _is_given(value: Value) -> bool:
    """Whether it is certainly a tensor rather than None."""
    return "none" not in value.tags and (bool(value.rooted("g.")) or "tensor" in value.tags)


def _is_plain(function: Function, index: int) -> bool:
    parameter = function.inputs[index]
    if function.examples and isinstance(function.examples[index], ast.Constant):
        return True
    if parameter.annotation:
        return parameter.annotation in {"int", "float", "bool", "str"}
    default = literal(parameter.default)
    if isinstance(default, bool | str) or (isinstance(default, int | float) and parameter.name in _PLAIN_NAMES):
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
