"""Find divisions by the square root of something that may be zero."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, text
from pullback_lint.model.walk import walk
from pullback_lint.problem import Problem

CODE = "PB612"


def check_function(function: Function) -> Iterator[Problem]:
    backward = function.backward
    if backward is None or any(
        called(node) in {"where", "clamp", "clamp_min", "maximum"} for node in walk(backward.node)
    ):
        return
    for node in walk(backward.node):
        operand = _root(node)
        if operand is not None and _is_saved(backward, operand):
            yield Problem(
                node,
                f"`{text(operand)}` may be zero: the gradient is infinite there",
                fix="add a small number under the root, or treat zero with `torch.where`",
                severity="note",
            )


def _root(node: ast.AST) -> ast.expr | None:
    """What a division or rsqrt takes the root of."""
    if isinstance(node, ast.Call) and called(node) == "rsqrt":
        return _operand(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        for child in walk(node.right):
            if isinstance(child, ast.Call) and called(child) == "sqrt":
                return _operand(child)
    return None


def _operand(node: ast.Call) -> ast.expr | None:
    return node.args[0] if node.args else node.func.value if isinstance(node.func, ast.Attribute) else None


def _is_saved(backward: Method, node: ast.expr) -> bool:
    value = backward.flow.values.get(node)
    return isinstance(node, ast.Name) and value is not None and bool(value.aliases("saved."))
