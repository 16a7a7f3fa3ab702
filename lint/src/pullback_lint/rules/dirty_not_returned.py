"""Find tensors given to mark_dirty that no return of forward contains."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, names_in, text
from pullback_lint.model.value import Value
from pullback_lint.problem import Problem

CODE = "PB304"


def check_function(function: Function) -> Iterator[Problem]:
    forward = function.forward
    if forward is None or "opaque" in function.outputs.tags:
        return
    returned = function.outputs.alias | {
        root for item in forward.flow.returns.values() for value in item.value.items or () for root in value.alias
    }
    for call in function.mark_calls.get("mark_dirty", []):
        for argument in call.args:
            value = next(
                (flow.values.get(argument, Value()) for flow in function.fillers if argument in flow.values), None
            )
            if value is None or isinstance(argument, ast.Starred) or not value.aliases("in."):
                continue
            if not value.alias & returned and not _returns_name(forward, argument):
                yield Problem(
                    argument,
                    f"`{text(argument)}` is marked dirty but not returned",
                    fix=f"return `{text(argument)}`, or do not change it in place",
                )


def _returns_name(forward: Method, argument: ast.expr) -> bool:
    """Whether a return mentions it, in whatever way."""
    return any(
        isinstance(argument, ast.Name) and argument.id in names_in(item.node)
        for item in forward.flow.returns.values()
        if not _computes(item.node.value)
    )


def _computes(node: ast.expr | None) -> bool:
    """Whether a returned expression is certainly new memory."""
    return (
        isinstance(node, ast.BinOp) or called(node) in {"round", "clone", "sign", "exp"} if node is not None else True
    )
