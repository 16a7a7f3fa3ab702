"""Find small numbers formed as the difference of large ones."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, closure, literal, source_of, text
from pullback_lint.model.walk import walk
from pullback_lint.problem import Problem

CODE = "PB602"


def check_function(function: Function) -> Iterator[Problem]:
    for method in (function.forward, function.backward):
        if method is not None:
            yield from _one_minus_cosine(method)
    if function.backward is not None:
        yield from _one_added(function, function.backward)


def _one_minus_cosine(method: Method) -> Iterator[Problem]:
    for node in walk(method.node):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub) or literal(node.left) != 1:
            continue
        if called(source_of(method.flow, node.right)) == "cos":
            message = "`1 - cos(x)` loses all digits near 0"
            yield Problem(node, message, fix="use `2 * sin(x / 2) ** 2`", severity="warning")


def _one_added(function: Function, backward: Method) -> Iterator[Problem]:
    """`y + 1` where forward formed y as exp(x) - 1."""
    for node in walk(backward.node):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
            continue
        for side, other in ((node.left, node.right), (node.right, node.left)):
            if literal(other) == 1 and isinstance(side, ast.Name) and _is_expm1(function, backward, side):
                yield Problem(
                    node,
                    f"`{text(node)}` rounds to 0 where the exponential is small",
                    fix="save the input and use `torch.exp(x)`",
                    severity="warning",
                )


def _is_expm1(function: Function, backward: Method, node: ast.Name) -> bool:
    value = backward.flow.values.get(node)
    if value is None or len(value.alias) != 1 or len(function.saves) != 1 or function.forward is None:
        return False
    index = min(value.alias).removeprefix("saved.")
    if not index.isdigit() or int(index) >= len(function.saves[0].arguments):
        return False
    kept = function.saves[0].arguments[int(index)]
    return any(called(child) == "expm1" for child in closure(function.forward.flow, kept))
