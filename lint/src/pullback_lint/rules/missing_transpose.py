"""Find a matrix product in backward whose operand must be transposed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, known, source_of
from pullback_lint.model.walk import walk
from pullback_lint.problem import Problem

CODE = "PB213"


def check_function(function: Function) -> Iterator[Problem]:
    forward, backward = function.forward, function.backward
    if forward is None or backward is None or function.is_surrogate:
        return
    for left, right in _products(forward):
        if left not in _names(function) or right not in _names(function):
            continue
        for element in function.gradients_of(_names(function).index(left)):
            node = source_of(backward.flow, element.node)
            if _is_product(node, backward, function, other=right, cotangent_first=True):
                yield _problem(node, left, right, f"`.t()` on `{right}`")
        for element in function.gradients_of(_names(function).index(right)):
            node = source_of(backward.flow, element.node)
            if _is_product(node, backward, function, other=left, cotangent_first=False):
                yield _problem(node, right, left, f"`.t()` on `{left}`")


def _problem(node: ast.AST, argument: str, other: str, fix: str) -> Problem:
    return Problem(
        node,
        f"the gradient of `{argument}` is a product with `{other}` untransposed",
        argument=argument,
        fix=f"use {fix}",
    )


def _names(function: Function) -> list[str]:
    return [parameter.name for parameter in function.inputs]


def _products(forward: Method) -> Iterator[tuple[str, str]]:
    """The operands of plain products of two inputs that forward returns."""
    for item in forward.flow.returns.values():
        shown = source_of(forward.flow, item.node.value) if item.node.value is not None else None
        if shown is None:
            continue
        for node in walk(shown):
            operands = _operands(node)
            if operands is not None and all(isinstance(side, ast.Name) for side in operands):
                yield operands[0].id, operands[1].id  # type: ignore[attr-defined]


def _operands(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return node.left, node.right
    if isinstance(node, ast.Call) and called(node) in {"matmul", "mm"}:
        if len(node.args) == 2:
            return node.args[0], node.args[1]
        if len(node.args) == 1 and isinstance(node.func, ast.Attribute):
            return node.func.value, node.args[0]
    return None


def _is_product(node: ast.AST, backward: Method, function: Function, *, other: str, cotangent_first: bool) -> bool:
    operands = _operands(node)
    if operands is None:
        return False
    cotangent, factor = operands if cotangent_first else operands[::-1]
    if not isinstance(cotangent, ast.Name) or not backward.flow.values[cotangent].aliases("g."):
        return False
    if not isinstance(factor, ast.Name) or len(backward.flow.assignments.get(factor.id, [])) != 1:
        return False
    roots = backward.flow.values[factor].alias
    kept = [known(function, root) for root in roots]
    return len(kept) == 1 and kept[0] is not None and kept[0].alias == {f"in.{other}"} and _as_it_is(function, other)


def _as_it_is(function: Function, name: str) -> bool:
    """Whether the input is saved under its own name, not as a view."""
    return any(
        isinstance(argument, ast.Name) and argument.id == name for save in function.saves for argument in save.arguments
    )
