"""Find cotangents that may be None and are used without a check."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, compared_with_none, literal
from pullback_lint.model.walk import every, walk
from pullback_lint.problem import Problem

CODE = "PB105"


def check_function(function: Function) -> Iterator[Problem]:
    backward = function.backward
    names = _cotangents(backward) if backward is not None else []
    if backward is None or len(names) < 2 or not _not_materialized(function):
        return
    checked = compared_with_none(backward.node)
    for index, name in enumerate(names):
        if name in checked or (index and "mark_non_differentiable" in function.mark_calls):
            continue
        use = _arithmetic_use(backward, name)
        if use is not None:
            yield Problem(
                use,
                f"`{name}` is None when that output is unused",
                argument=name,
                fix=f"check `{name} is not None` first",
            )


def _cotangents(backward: Method) -> list[str]:
    """The names of the cotangents, also of those that `*grads` is taken apart into."""
    names = [parameter.name for parameter in backward.parameters]
    for node in every(backward.node, ast.Assign) if backward.vararg else ():
        if isinstance(node.value, ast.Name) and node.value.id == backward.vararg:
            names += [item.id for item in getattr(node.targets[0], "elts", []) if isinstance(item, ast.Name)]
    return names


def _not_materialized(function: Function) -> bool:
    calls = function.mark_calls.get("set_materialize_grads", [])
    return any(call.args and literal(call.args[0]) is False for call in calls)


_OPERATIONS = {"mul", "add", "matmul", "mm", "sub", "div"}


def _arithmetic_use(backward: Method, name: str) -> ast.AST | None:
    return next((node for node in walk(backward.node) if any(map(_is(name), _operands(node)))), None)


def _is(name: str) -> Callable[[ast.AST], bool]:
    return lambda node: isinstance(node, ast.Name) and node.id == name


def _operands(node: ast.AST) -> list[ast.expr]:
    """What an operation fails on if it is None."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Attribute):
        return [node.value]
    return node.args if isinstance(node, ast.Call) and called(node) in _OPERATIONS else []
