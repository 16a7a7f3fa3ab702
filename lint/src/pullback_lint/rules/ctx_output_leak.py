"""Find outputs kept as attributes of the context."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.events import AttributeSet
from pullback_lint.model.function import Function
from pullback_lint.model.method import Element, Method, Result
from pullback_lint.model.value import Value
from pullback_lint.model.walk import every
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
    setup = function.method("setup_context")
    if setup is not None and item.value.alias == {"out"}:
        return isinstance(item.expr, ast.Name) and item.expr.id == setup.parameters[-1].name
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
    if not isinstance(node, ast.Name) or node.id not in _names_of(forward, item):
        return False
    kept = getattr(item.node, "lineno", 0)
    stores = [name.lineno for name in every(forward.node, ast.Name) if name.id == node.id
              and isinstance(name.ctx, ast.Store)]  # fmt: skip
    return max(stores, default=kept + 1) <= kept and (len(result.elements or ()) == 1 or "tensor" in item.value.tags)


def _names_of(forward: Method, item: AttributeSet) -> set[str]:
    """The names of what was kept: `ctx.y = y`, or `ctx.y = y = …`."""
    beside = {target.id for node in every(forward.node, ast.Assign) if item.node in node.targets
              for target in node.targets if isinstance(target, ast.Name)}  # fmt: skip
    return beside | ({item.expr.id} if isinstance(item.expr, ast.Name) else set())


def _single(result: Result) -> tuple[Element, ...]:
    node = result.node.value
    return (Element(node, Value()),) if isinstance(node, ast.Name | ast.Attribute) else ()
