"""Find a threshold whose gradient has the sign of the input's."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, literal, text
from pullback_lint.model.walk import walk
from pullback_lint.problem import Problem

CODE = "PB216"


def check_function(function: Function) -> Iterator[Problem]:
    forward, backward = function.forward, function.backward
    if forward is None or backward is None:
        return
    names = [parameter.name for parameter in function.inputs]
    for above, below in _thresholds(forward, names):
        for _, elements in function.gradients:
            if max(names.index(above), names.index(below)) >= len(elements):
                continue
            one, two = elements[names.index(above)].node, elements[names.index(below)].node
            if isinstance(one, ast.Name) and text(_summed(two)) == one.id:
                yield Problem(
                    two,
                    f"the output depends on `{above} - {below}`: the gradient of `{below}` has the opposite sign",
                    argument=below,
                    fix=f"use `-{text(two)}`",
                )


def _thresholds(forward: Method, names: list[str]) -> Iterator[tuple[str, str]]:
    for node in walk(forward.node):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Gt | ast.GtE):
            left, right = node.left, node.comparators[0]
            if isinstance(left, ast.Name) and isinstance(right, ast.Name):
                pair = left.id, right.id
            elif isinstance(left, ast.BinOp) and isinstance(left.op, ast.Sub) and literal(right) == 0:
                pair = text(left.left), text(left.right)
            else:
                continue
            if set(pair) <= set(names):
                yield pair


def _summed(node: ast.expr) -> ast.expr:
    """What is summed, if the node is a sum."""
    if isinstance(node, ast.Call) and called(node) in {"sum", "sum_to_size"} and isinstance(node.func, ast.Attribute):
        return node.func.value
    return node
