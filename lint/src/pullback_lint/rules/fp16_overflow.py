"""Find reciprocals of sums of squares, which leave the range of float16 first."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.queries import called, literal, source_of, text
from pullback_lint.model.walk import walk
from pullback_lint.problem import Problem

CODE = "PB603"


def check_function(function: Function) -> Iterator[Problem]:
    backward = function.backward
    if backward is None or any(called(node) in {"float", "double"} for node in walk(backward.node)):
        return
    for node in walk(backward.node):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and literal(node.left) == 1:
            shown = source_of(backward.flow, node.right)
            if (
                isinstance(shown, ast.BinOp)
                and isinstance(shown.op, ast.Add)
                and all(map(_is_square, (shown.left, shown.right)))
            ):
                yield Problem(
                    node,
                    f"`{text(node)}` leaves the range of float16 where the gradient does not",
                    fix="divide by the root twice, or compute in float32",
                    severity="note",
                )


def _is_square(node: ast.expr) -> bool:
    if not isinstance(node, ast.BinOp):
        return called(node) in {"square"}
    if isinstance(node.op, ast.Pow):
        return literal(node.right) == 2
    return isinstance(node.op, ast.Mult) and text(node.left) == text(node.right)
