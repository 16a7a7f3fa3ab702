"""Find expensive operations that backward repeats although their result is forward's output."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, known, results, text
from pullback_lint.model.tables import words
from pullback_lint.model.walk import walk
from pullback_lint.problem import Problem

CODE = "PB706"
DEAR = words(
    "exp expm1 sigmoid tanh softmax log_softmax sqrt rsqrt erf matmul mm bmm logsumexp cumsum sort fft inverse"
)


def check_function(function: Function) -> Iterator[Problem]:
    forward, backward = function.forward, function.backward
    if forward is None or backward is None or function.is_operator:
        return
    outputs = {found for node in results(forward) if (found := _operation(node)) is not None}
    for node in walk(backward.node):
        found = _operation(node)
        if found is None or not isinstance(node, ast.Call):
            continue
        name, operand, rest = found
        if (name, _input(function, backward, node) or operand, rest) in outputs:
            yield Problem(
                node,
                f"`{text(node)}` is what forward returned",
                fix="save the output instead of computing it again",
                severity="note",
            )


def _operation(node: ast.AST) -> tuple[str, str, tuple[str, ...]] | None:
    """An expensive operation: its name, what it is applied to, and its further arguments, as text."""
    if not isinstance(node, ast.Call) or called(node) not in DEAR:
        return None
    operand = _operand(node)
    rest = [item for item in node.args if item is not operand] + [item.value for item in node.keywords]
    return (called(node), operand.id, tuple(map(text, rest))) if isinstance(operand, ast.Name) else None


def _operand(node: ast.Call) -> ast.expr | None:
    """The tensor that an operation or a method works on."""
    func = node.func
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id not in {"torch", "F"}:
        return func.value
    return node.args[0] if node.args else None


def _input(function: Function, backward: Method, node: ast.Call) -> str:
    """The input of forward that an operand of backward is."""
    operand = _operand(node)
    value = backward.flow.values.get(operand) if operand is not None else None
    kept = [known(function, root) for root in value.alias] if value is not None else []
    names = [name for item in kept if item is not None for name in item.alias]
    return names[0].removeprefix("in.") if len(kept) == 1 and len(names) == 1 else ""
