"""Find a mask multiplied to a function that is infinite where the mask is zero."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, names_in, source_of, text
from pullback_lint.model.walk import walk
from pullback_lint.problem import Problem

CODE = "PB605"


_PARTIAL = {"log", "sqrt", "rsqrt", "reciprocal", "log2", "log10", "acos", "asin", "acosh", "atanh"}


def check_function(function: Function) -> Iterator[Problem]:
    backward = function.backward
    if backward is None:
        return
    for node in walk(backward.node):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
            continue
        for mask, other in ((node.left, node.right), (node.right, node.left)):
            tested = _tested(backward, mask)
            if tested and _partial_of(backward, other, tested):
                yield Problem(
                    node,
                    f"0 times infinity is NaN: `{text(other)}` is evaluated where the mask is 0",
                    fix="replace the argument where it is masked (`torch.where`), then evaluate",
                    severity="warning",
                )
                break


def _tested(backward: Method, node: ast.expr) -> set[str]:
    """The names that a mask compares with something."""
    if isinstance(node, ast.BinOp):
        return _tested(backward, node.right)
    shown = source_of(backward.flow, node)
    while (
        isinstance(shown, ast.Call)
        and called(shown) in {"to", "float", "type_as", "double"}
        and isinstance(shown.func, ast.Attribute)
    ):
        shown = source_of(backward.flow, shown.func.value)
    return names_in(shown) - {"torch"} if isinstance(shown, ast.Compare) else set()


def _partial_of(backward: Method, node: ast.expr, names: set[str]) -> bool:
    for child in walk(node):
        if isinstance(child, ast.Call) and called(child) in _PARTIAL:
            arguments = [*child.args, *([child.func.value] if isinstance(child.func, ast.Attribute) else [])]
            if any(isinstance(argument, ast.Name) and argument.id in names for argument in arguments):
                return True
    return False
