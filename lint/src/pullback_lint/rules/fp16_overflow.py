"""Find reciprocals of sums of squares, which leave the range of float16 first."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.queries import called, calls_of, literal, source_of, text
from pullback_lint.model.walk import every
from pullback_lint.problem import Problem

CODE = "PB603"


def check_function(function: Function) -> Iterator[Problem]:
    backward = function.backward
    if backward is None or calls_of(backward.node, {"float", "double"}):
        return
    for node in every(backward.node, ast.BinOp):
        if isinstance(node.op, ast.Div):
            shown = source_of(backward.flow, node.right)
            one = literal(node.left) == 1
            if _is_cube(shown) or (one and (_is_square(shown) or _is_sum_of_squares(shown))):
                yield Problem(
                    node,
                    f"`{text(node)}` leaves the range of float16 where the gradient does not",
                    fix="divide by the root twice, or compute in float32",
                    severity="note",
                )


def _is_sum_of_squares(node: ast.expr) -> bool:
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return False
    return _is_square(node.left) and _is_square(node.right)


def _is_square(node: ast.expr) -> bool:
    if not isinstance(node, ast.BinOp):
        return called(node) in {"square"}
    if isinstance(node.op, ast.Pow):
        return literal(node.right) == 2
    return isinstance(node.op, ast.Mult) and text(node.left) == text(node.right)


def _is_cube(node: ast.expr) -> bool:
    """Whether it is a power of three or more."""
    power = None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        power = literal(node.right)
    elif isinstance(node, ast.Call) and called(node) == "pow" and node.args:
        power = literal(node.args[-1])
    return isinstance(power, int | float) and power >= 3
