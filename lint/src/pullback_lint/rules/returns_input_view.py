"""Find inputs that forward returns as they are."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint import edits
from pullback_lint.model.function import Function
from pullback_lint.model.method import Method, Result
from pullback_lint.model.queries import source_of
from pullback_lint.problem import Problem

CODE = "PB305"


def check_function(function: Function) -> Iterator[Problem]:
    forward = function.forward
    if forward is None or function.is_operator or "mark_dirty" in function.mark_calls or not function.gradients:
        return
    changed = {root for mutation in forward.flow.mutations.values() for root in mutation.value.alias}
    for result in forward.results:
        for element in _elements(result):
            name = _input(function, forward, element)
            if name and f"in.{name}" not in changed and name in function.trained:
                yield Problem(
                    element,
                    f"input `{name}` is returned as it is",
                    argument=name,
                    fix=f"return `{name}.view_as({name})`, or `{name}.clone()` if it may be changed in place",
                    edits=edits.replace_node(function.module, element, f"{name}.view_as({name})"),
                )


def _elements(result: Result) -> list[ast.expr]:
    if result.node.value is None:
        return []
    return list(result.node.value.elts) if isinstance(result.node.value, ast.Tuple) else [result.node.value]


def _input(function: Function, forward: Method, node: ast.expr) -> str:
    """The input's name, if the expression is that very object."""
    node = source_of(forward.flow, node)
    if isinstance(node, ast.Name) and node.id not in forward.flow.assignments:
        return node.id if node.id in {parameter.name for parameter in function.inputs} else ""
    return ""
