"""Find small numbers formed as the difference of large ones."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint import edits
from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, calls_of, closure, literal, source_of, text
from pullback_lint.model.walk import every, walk
from pullback_lint.problem import Problem

CODE = "PB602"


def check_function(function: Function) -> Iterator[Problem]:
    for method in (function.forward, function.backward):
        if method is not None:
            yield from _one_minus_cosine(method)
            yield from _better_functions(function, method)
            yield from _difference_of_squares(method)
            yield from _one_minus_tanh(function, method)
    if function.backward is not None:
        yield from _one_added(function, function.backward)


def _one_minus_cosine(method: Method) -> Iterator[Problem]:
    for node in every(method.node, ast.BinOp):
        if not isinstance(node.op, ast.Sub) or literal(node.left) != 1:
            continue
        if called(source_of(method.flow, node.right)) == "cos":
            message = "`1 - cos(x)` loses all digits near 0"
            yield Problem(node, message, fix="use `2 * sin(x / 2) ** 2`", severity="warning")


def _better_functions(function: Function, method: Method) -> Iterator[Problem]:
    """`exp(x) - 1` and `log(1 + x)`, which torch has as functions of their own."""
    for node in (*every(method.node, ast.BinOp), *calls_of(method.node, {"log"})):
        better = _expm1(method, node) or _log1p(method, node)
        if better:
            yield Problem(
                node,
                f"`{text(node)}` loses its digits near 0",
                fix=f"use `{better}`",
                edits=edits.replace_node(function.module, node, better),
                safe=False,
                severity="warning",
            )


def _expm1(method: Method, node: ast.AST) -> str:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and literal(node.right) == 1:
        operand = _operand(method, node.left, "exp")
        return f"torch.expm1({text(operand)})" if operand is not None else ""
    return ""


def _log1p(method: Method, node: ast.AST) -> str:
    operand = _operand(method, node, "log")
    if not isinstance(operand, ast.BinOp) or not isinstance(operand.op, ast.Add):
        return ""
    for one, other in ((operand.left, operand.right), (operand.right, operand.left)):
        if literal(one) == 1 and literal(other) is None and called(other) != "exp":
            return f"torch.log1p({text(other)})"
    return ""


def _operand(method: Method, node: ast.AST, name: str) -> ast.expr | None:
    """What a torch function or method of one argument is applied to."""
    if not isinstance(node, ast.Call) or called(node) != name or node.keywords:
        return None
    if method.imports.dotted(node.func).startswith("torch."):
        return node.args[0] if len(node.args) == 1 else None
    is_method = isinstance(node.func, ast.Attribute) and not method.imports.dotted(node.func).startswith("math.")
    return node.func.value if is_method and not node.args and isinstance(node.func, ast.Attribute) else None


def _difference_of_squares(method: Method) -> Iterator[Problem]:
    """The variance as the mean of squares minus the square of the mean."""
    for node in every(method.node, ast.BinOp):
        if not isinstance(node.op, ast.Sub):
            continue
        left, right = source_of(method.flow, node.left), node.right
        squared = isinstance(right, ast.BinOp) and isinstance(right.op, ast.Pow | ast.Mult)
        base = source_of(method.flow, right.left) if isinstance(right, ast.BinOp) else None
        squares = any(map(_is_square, walk(left)))
        if squared and called(left) == "mean" and called(base) == "mean" and squares:
            message = "a variance as a difference of large numbers"
            yield Problem(node, message, fix="use `x.var(…, unbiased=False)`", severity="warning")


def _is_square(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        same = isinstance(node.op, ast.Mult) and text(node.left) == text(node.right)
        return same or (isinstance(node.op, ast.Pow) and literal(node.right) == 2)
    return called(node) == "square" or (called(node) == "pow" and literal(node.args[-1]) == 2)  # type: ignore[attr-defined]


def _one_minus_tanh(function: Function, method: Method) -> Iterator[Problem]:
    """`1 - tanh²`, of a tanh computed here or saved by forward."""
    for node in every(method.node, ast.BinOp):
        if not isinstance(node.op, ast.Sub) or literal(node.left) != 1:
            continue
        base = _squared(node.right)
        if base is not None and "tanh" in {called(source_of(method.flow, base)), called(_kept(function, method, base))}:
            message = f"`{text(node)}` is 0 in float32 from an argument of 9 on"
            yield Problem(node, message, fix="use `torch.cosh(x) ** -2`", severity="note")


def _squared(node: ast.expr) -> ast.expr | None:
    """What is squared, if the node is a square."""
    if not _is_square(node):
        return None
    if isinstance(node, ast.BinOp):
        return node.left
    return node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None


def _kept(function: Function, method: Method, node: ast.expr) -> ast.expr | None:
    """What forward saved under a name of backward."""
    value = method.flow.values.get(node)
    if value is None or len(value.alias) != 1 or len(function.saves) != 1 or function.forward is None:
        return None
    index = min(value.alias).removeprefix("saved.")
    if not index.isdigit() or int(index) >= len(function.saves[0].arguments):
        return None
    return source_of(function.forward.flow, function.saves[0].arguments[int(index)])


def _one_added(function: Function, backward: Method) -> Iterator[Problem]:
    """`y + 1` where forward formed y as exp(x) - 1."""
    for node in every(backward.node, ast.BinOp):
        if not isinstance(node.op, ast.Add):
            continue
        for side, other in ((node.left, node.right), (node.right, node.left)):
            if literal(other) == 1 and isinstance(side, ast.Name) and _is_expm1(function, backward, side):
                yield Problem(
                    node,
                    f"`{text(node)}` rounds to 0 where the exponential is small",
                    fix="save the input and use `torch.exp(x)`",
                    severity="warning",
                )


def _is_expm1(function: Function, backward: Method, node: ast.Name) -> bool:
    kept = _kept(function, backward, node)
    forward = function.forward
    return (
        kept is not None
        and forward is not None
        and any(called(child) == "expm1" for child in closure(forward.flow, kept))
    )
