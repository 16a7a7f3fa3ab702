"""Find logarithms of probabilities that may round to zero."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, calls_of, literal, source_of, text
from pullback_lint.problem import Problem

CODE = "PB613"


def check_function(function: Function) -> Iterator[Problem]:
    for method in (function.forward, function.backward):
        if method is None:
            continue
        arguments = {
            node: operand for node in calls_of(method.node, {"log"}) if (operand := _argument(node)) is not None
        }
        complements = set(map(_complement, arguments.values()))
        for node, operand in arguments.items():
            if isinstance(operand, ast.Name) and _may_vanish(method, operand, complements):
                yield Problem(
                    node,
                    f"`{operand.id}` may round to zero: its logarithm is infinite",
                    fix="use `torch.log_softmax` or `logsigmoid` of what it was made from",
                    severity="note",
                )


def _argument(node: ast.Call) -> ast.expr | None:
    """What a logarithm is taken of."""
    return node.args[0] if node.args else node.func.value if isinstance(node.func, ast.Attribute) else None


def _complement(node: ast.expr) -> str:
    """`p` of `1 - p`, as text."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and literal(node.left) == 1:
        return text(node.right)
    return ""


def _may_vanish(method: Method, node: ast.Name, complements: set[str]) -> bool:
    """Whether it is a probability: made as one, or its complement is taken the logarithm of as well."""
    shown = source_of(method.flow, node)
    return called(shown) in {"softmax", "sigmoid"} or (shown is node and node.id in complements)
