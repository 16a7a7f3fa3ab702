"""Find marks on expressions that forward cannot return, because they are made for the mark."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.queries import source_of, text
from pullback_lint.problem import Problem

CODE = "PB111"


def check_function(function: Function) -> Iterator[Problem]:
    for call in function.mark_calls.get("mark_non_differentiable", []):
        for argument in call.args:
            if isinstance(argument, ast.Call | ast.BinOp | ast.Compare | ast.UnaryOp) or _is_left(function, argument):
                yield Problem(
                    argument,
                    f"`{text(argument)}` is an object that `forward` does not return: the mark has no effect",
                    fix="mark the object that is returned",
                )


def _is_left(function: Function, node: ast.expr) -> bool:
    """Whether a name stands for an object that is not among the outputs."""
    forward = function.forward
    if forward is None or function.has_setup_context or not isinstance(node, ast.Name):
        return False
    if len(forward.flow.assignments.get(node.id, [])) != 1 or "mark_dirty" in function.mark_calls:
        return False
    returned = [result.elements for result in forward.results]
    if not returned or any(elements is None for elements in returned):
        return False
    shown = {text(source_of(forward.flow, item.node)) for elements in returned for item in elements or ()}
    shown |= {text(item.node) for elements in returned for item in elements or ()}
    return not {node.id, text(source_of(forward.flow, node))} & shown and not any(
        item.startswith("*") for item in shown
    )
