"""Find formulas for which torch has a stable function."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint import edits
from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, calls_of, literal, text
from pullback_lint.problem import Problem

CODE = "PB609"


def check_function(function: Function) -> Iterator[Problem]:
    for method in (function.forward, function.backward):
        if method is None:
            continue
        for node in calls_of(method.node, {"log", "log1p"}):
            better = _better(method, node)
            if better:
                yield Problem(
                    node,
                    f"`{text(node)}` overflows or loses its digits",
                    fix=f"use `{better}`",
                    edits=edits.replace_node(function.module, node, better),
                    safe=False,
                )


def _better(method: Method, node: ast.AST) -> str:
    """The stable form of an expression, or an empty string."""
    inner = _of(method, node, "log1p")
    exponent = _of(method, inner, "exp") if inner is not None else None
    if exponent is not None:
        return f"torch.nn.functional.softplus({text(exponent)})"
    argument = _of(method, node, "log")
    return _better_log(method, argument) if argument is not None else ""


def _better_log(method: Method, node: ast.expr) -> str:
    for name, stable in (("softmax", "torch.log_softmax"), ("sigmoid", "torch.nn.functional.logsigmoid")):
        inner = _call(method, node, name)
        if inner is not None:
            return f"{stable}({', '.join(map(text, inner))})"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if literal(one) == 1 and literal(other) is None:
                argument = _of(method, other, "exp")
                return f"torch.nn.functional.softplus({text(argument)})" if argument is not None else ""
    return _better_sum(method, node)


def _better_sum(method: Method, node: ast.expr) -> str:
    if not isinstance(node, ast.Call) or called(node) != "sum":
        return ""
    is_function = method.imports.dotted(node.func).startswith("torch.")
    operand = (
        node.args[0] if is_function and node.args else node.func.value if isinstance(node.func, ast.Attribute) else None
    )
    argument = _of(method, operand, "exp") if operand is not None else None
    rest = [text(item) for item in (node.args[1:] if is_function else node.args)]
    rest += [f"{item.arg}={text(item.value)}" for item in node.keywords]
    return f"torch.logsumexp({', '.join([text(argument), *rest])})" if argument is not None and rest else ""


def _call(method: Method, node: ast.AST, name: str) -> list[ast.expr] | None:
    """The operand and further arguments of a call of a torch function or method of that name."""
    if not isinstance(node, ast.Call) or called(node) != name or (node.keywords and name != "softmax"):
        return None
    extra = [item.value for item in node.keywords]
    if method.imports.dotted(node.func).startswith("torch."):
        return [*node.args, *extra]
    return [node.func.value, *node.args, *extra] if isinstance(node.func, ast.Attribute) else None


def _of(method: Method, node: ast.AST, name: str) -> ast.expr | None:
    """The operand of a call of one argument."""
    found = _call(method, node, name)
    if (
        found is None
        or len(found) != 1
        or (isinstance(node, ast.Call) and method.imports.dotted(node.func).startswith("math."))
    ):
        return None
    return found[0]
