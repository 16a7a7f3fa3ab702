"""Find transposes without a conjugate in the backward of what calls itself complex."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, text
from pullback_lint.model.value import Value
from pullback_lint.model.walk import every, words_in
from pullback_lint.problem import Problem

CODE = "PB214"


def check_function(function: Function) -> Iterator[Problem]:
    backward = function.backward
    if backward is None or not _is_complex(function) or words_in(backward.node) & _CONJUGATING:
        return
    yield from _products(function)
    for node in filter(_is_transposed, (*every(backward.node, ast.Call), *every(backward.node, ast.Attribute))):
        if isinstance(node, ast.expr):
            value = backward.flow.values.get(node)
            if value is not None and any(root.startswith("saved.") for root in value.deps):
                yield Problem(
                    node,
                    f"`{text(node)}` is transposed but not conjugated, and this Function takes complex tensors",
                    fix="use `.mH`, or `.conj()` as well",
                    severity="warning",
                )


def _products(function: Function) -> Iterator[Problem]:
    """Gradients of a product that multiply by the other factor as it is."""
    forward = function.forward
    if forward is None or not any(_multiplies_inputs(forward, node) for node in every(forward.node, ast.BinOp)):
        return
    for _, elements in function.gradients:
        for element in elements:
            roots = element.value.rooted("saved.")
            if roots and element.value.rooted("g.") and "opaque" not in element.value.tags:
                yield Problem(
                    element.node,
                    "this Function takes complex tensors, and the other factor is not conjugated",
                    fix="multiply by `.conj()` of the other factor",
                    severity="warning",
                )


def _multiplies_inputs(forward: Method, node: ast.BinOp) -> bool:
    if not isinstance(node.op, ast.Mult):
        return False
    left, right = forward.flow.values.get(node.left, Value()), forward.flow.values.get(node.right, Value())
    return bool(left.smooth) and bool(right.smooth)


def _is_complex(function: Function) -> bool:
    return "complex" in function.name.lower() or any(
        word in {"is_complex", "view_as_complex"} or word.startswith("complex")
        for method, _ in function.members.values()
        for word in words_in(method)
    )


_CONJUGATING = {"conj", "mH", "H", "adjoint", "conj_physical", "real", "is_complex"}


def _is_transposed(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return called(node) in {"t", "transpose", "swapaxes"}
    return isinstance(node, ast.Attribute) and node.attr in {"T", "mT"}
