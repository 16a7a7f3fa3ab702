"""Find outputs kept as attributes of the context."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.events import AttributeSet
from pullback_lint.model.function import Function
from pullback_lint.model.method import Element, Method, Result
from pullback_lint.model.value import Value
from pullback_lint.problem import Problem

CODE = "PB307"


def check_function(function: Function) -> Iterator[Problem]:
    forward = function.forward
    if forward is None or function.is_operator:
        return
    for name, items in function.sets.items():
        for item in items:
            if _is_output(function, forward, item) and item.node in forward.flow.sets | _setup_sets(function):
                yield Problem(
                    item.node,
                    f"the output is kept as `{forward.ctx or 'ctx'}.{name}`: a reference cycle",
                    fix="use `save_for_backward`",
                )


def _setup_sets(function: Function) -> dict[ast.AST, AttributeSet]:
    setup = function.method("setup_context")
    return setup.flow.sets if setup is not None else {}


def _is_output(function: Function, forward: Method, item: AttributeSet) -> bool:
    if item.value.alias == {"out"} and isinstance(item.expr, ast.Name):
        return True
    if item.value.tags & {"plain", "scalar", "list", "tuple", "dict"} or item.value.aliases("in."):
        return False
    return any(
        _is_same(forward, item, result, element.node)
        for result in forward.results
        for element in result.elements or _single(result)
    )


def _is_same(forward: Method, item: AttributeSet, result: Result, node: ast.expr) -> bool:
    """Whether a returned expression is the object that was kept."""
    if isinstance(node, ast.Attribute):
        return forward.flow.is_ctx(node.value) and node.attr == item.name
    if not isinstance(node, ast.Name) or not isinstance(item.expr, ast.Name) or node.id != item.expr.id:
        return False
    once = len(forward.flow.assignments.get(node.id, [])) == 1
    return once and (len(result.elements or ()) == 1 or "tensor" in item.value.tags)


def _single(result: Result) -> tuple[Element, ...]:
    node = result.node.value
    return (Element(node, Value()),) if isinstance(node, ast.Name | ast.Attribute) else ()
