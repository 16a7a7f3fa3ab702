"""Find the gradient of a shared parameter formed with mean instead of sum."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Element, Method
from pullback_lint.model.queries import REDUCTIONS, called, calls_of, source_of, sources_of
from pullback_lint.problem import Problem

CODE = "PB207"


def check_function(function: Function) -> Iterator[Problem]:
    backward, forward = function.backward, function.forward
    if backward is None or forward is None or function.is_surrogate or _averages(forward):
        return
    for _result, elements in function.gradients:
        if not any(_passes_shape(element) for element in elements):
            continue
        for index, element in enumerate(elements[: len(function.inputs)]):
            mean = _mean(backward, element.node)
            if mean is not None and element.value.rooted("g."):
                yield Problem(
                    mean,
                    f"the gradient of `{function.inputs[index].name}` is averaged: contributions add up",
                    argument=function.inputs[index].name,
                    fix="use `.sum(…)`",
                )


def _averages(forward: Method) -> bool:
    return bool(calls_of(forward.node, {"mean", "var", "std", "layer_norm"}))


def _passes_shape(element: Element) -> bool:
    """Whether a gradient keeps the cotangent's shape, so that the others are reduced from it."""
    return bool(element.value.rooted("g.")) and not calls_of(element.node, REDUCTIONS)


def _mean(backward: Method, node: ast.expr, depth: int = 0) -> ast.AST | None:
    """A mean that is a factor of what an expression may stand for."""
    found = (_mean_of(backward, item, depth) for item in sources_of(backward.flow, node))
    return next((item for item in found if item is not None), None)


def _mean_of(backward: Method, node: ast.expr, depth: int) -> ast.AST | None:
    while isinstance(node, ast.UnaryOp):
        node = source_of(backward.flow, node.operand)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        return _mean(backward, node.left, depth + 1) if depth < DEEP else None  # `g = g / n` stands for itself
    return node if called(node) == "mean" else None


DEEP = 10  # factors that are looked through
