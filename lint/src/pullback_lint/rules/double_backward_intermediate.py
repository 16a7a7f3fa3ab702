"""Find saved intermediates that a differentiable backward treats as constants."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model import tables
from pullback_lint.model.events import Save
from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import text
from pullback_lint.problem import Problem

CODE = "PB401"


def check_function(function: Function) -> Iterator[Problem]:
    backward = function.backward
    if backward is None or function.once or function.is_surrogate or _leaves_autograd(backward):
        return
    used = {root for _, elements in function.gradients for element in elements for root in element.value.smooth}
    for save in function.saves:
        for index, argument in enumerate(save.arguments if save.values else ()):
            if f"saved.{index}" in used and _is_intermediate(function, argument, save, index):
                yield Problem(
                    argument,
                    f"`{text(argument)}` was computed without recording: the second derivative misses its part",
                    fix="recompute it in backward from saved inputs, or mark backward with `@once_differentiable`",
                )


def _leaves_autograd(backward: Method) -> bool:
    return any(name in tables.NO_GRAD for name in backward.decorators)


def _is_intermediate(function: Function, argument: ast.expr, save: Save, index: int) -> bool:
    if save.values is None or index >= len(save.values) or len(save.values) != len(save.arguments):
        return False
    value = save.values[index]
    smooth = {root for root in value.smooth if root.removeprefix("in.") in function.trained}
    if not smooth or value.aliases("in.") or value.aliases("out") or value.tags & {"opaque", "numpy", "plain", "index"}:
        return False
    return bool(function.outputs.smooth & smooth) and not _is_output(function, argument)


def _is_output(function: Function, argument: ast.expr) -> bool:
    if function.forward is None:
        return True
    returned = {text(element.node) for result in function.forward.results for element in result.elements or ()}
    returned |= {text(result.node.value) for result in function.forward.results if result.node.value is not None}
    return text(argument) in returned
