"""Find a threshold whose gradient has the sign of the input's."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, closure, literal, text
from pullback_lint.model.walk import every, walk
from pullback_lint.problem import Problem

CODE = "PB216"


def check_function(function: Function) -> Iterator[Problem]:
    forward, backward = function.forward, function.backward
    if forward is None or backward is None:
        return
    yield from _inner_factor(function, backward)
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
    for node in every(forward.node, ast.Compare):
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.Gt | ast.GtE):
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


def _inner_factor(function: Function, backward: Method) -> Iterator[Problem]:
    """`s * (1 - s)` with `s = sigmoid(k * v)`, and `1 - t²` with `t = tanh(k * v)`, without the inner factor `k`."""
    for _, elements in function.gradients:
        for element in elements:
            calls = [node for node in closure(backward.flow, element.node) if isinstance(node, ast.Call)]
            squashed = [(node, factor) for node in calls if (factor := _factor(node)) is not None]
            if len(squashed) != 1 or not _has_derivative(backward, element.node):
                continue
            call, factor = squashed[0]
            used = [text(node) for node in closure(backward.flow, element.node)].count(text(factor))
            if used == [text(node) for node in walk(call)].count(text(factor)):
                yield Problem(
                    element.node,
                    f"the derivative of `{text(call)}` has the factor `{text(factor)}`, this gradient has not",
                    fix=f"multiply by `{text(factor)}`, unless the height is to stay the same",
                    severity="note",
                )


def _factor(node: ast.Call) -> ast.expr | None:
    """The factor of the argument that is not a number: `k` of `sigmoid(k * v)`."""
    argument = node.args[0] if node.args and called(node) in {"sigmoid", "tanh"} else None
    if not isinstance(argument, ast.BinOp) or not isinstance(argument.op, ast.Mult):
        return None
    for side in (argument.left, argument.right):
        if isinstance(side, ast.Attribute) or (isinstance(side, ast.Constant) and side.value != 1):
            return side
    return None


def _has_derivative(backward: Method, node: ast.expr) -> bool:
    """Whether something of the form `1 - s` is part of an expression."""
    return any(
        isinstance(child, ast.BinOp) and isinstance(child.op, ast.Sub) and literal(child.left) == 1
        for child in closure(backward.flow, node)
    )
