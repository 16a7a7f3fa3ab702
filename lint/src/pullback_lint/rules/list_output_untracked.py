"""Find lists and dicts of tensors that forward returns."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.queries import source_of
from pullback_lint.problem import Problem

CODE = "PB109"


def check_function(function: Function) -> Iterator[Problem]:
    forward = function.forward
    if forward is None or function.is_operator:
        return
    for item in forward.flow.returns.values():
        if item.node.value is None:
            continue
        kind = _kind(source_of(forward.flow, item.node.value))
        if kind and item.value.deps:
            yield Problem(
                item.node,
                f"`forward` returns a {kind}: its tensors are not part of the graph",
                fix="return a tuple",
            )


def _kind(node: ast.expr) -> str:
    """`list` or `dict`, if an expression makes one."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"list", "dict"}:
        return node.func.id
    if isinstance(node, ast.Dict | ast.DictComp):
        return "dict"
    return "list" if isinstance(node, ast.List | ast.ListComp) else ""
