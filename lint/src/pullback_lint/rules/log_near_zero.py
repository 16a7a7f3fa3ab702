"""Find logarithms of probabilities that may round to zero."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.queries import called, source_of
from pullback_lint.model.walk import walk
from pullback_lint.problem import Problem

CODE = "PB613"


def check_function(function: Function) -> Iterator[Problem]:
    for method in (function.forward, function.backward):
        if method is None:
            continue
        for node in walk(method.node):
            if not isinstance(node, ast.Call) or called(node) != "log":
                continue
            operand = node.args[0] if node.args else node.func.value if isinstance(node.func, ast.Attribute) else None
            if isinstance(operand, ast.Name) and called(source_of(method.flow, operand)) in {"softmax", "sigmoid"}:
                yield Problem(
                    node,
                    f"`{operand.id}` may round to zero: its logarithm is infinite",
                    fix="use `torch.log_softmax` or `logsigmoid` of what it was made from",
                    severity="note",
                )
