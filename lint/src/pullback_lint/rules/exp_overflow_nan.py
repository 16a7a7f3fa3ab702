"""Find quotients of exponentials of something unbounded."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, closure, text
from pullback_lint.model.tables import words
from pullback_lint.model.walk import walk
from pullback_lint.problem import Problem

CODE = "PB601"


def check_function(function: Function) -> Iterator[Problem]:
    for method in (function.forward, function.backward):
        if method is None:
            continue
        for node in walk(method.node):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                shared = _exponentials(method, node.left) & _exponentials(method, node.right)
                if shared:
                    yield Problem(
                        node,
                        f"`{min(shared)}` overflows, and infinity / infinity is NaN",
                        fix="use `torch.sigmoid`, `torch.softmax` or `torch.tanh`, or subtract the maximum first",
                        severity="warning",
                    )


def _exponentials(method: Method, node: ast.expr) -> set[str]:
    """The exponentials of unbounded arguments behind an expression, as text."""
    found: set[str] = set()
    for child in closure(method.flow, node):
        if called(child) == "exp" and isinstance(child, ast.Call):
            argument = _argument(child, method)
            if argument is not None and not is_bounded(method, argument):
                found.add(text(child))
    return found


def _argument(node: ast.Call, method: Method) -> ast.expr | None:
    if node.args:
        return node.args[0]
    return node.func.value if isinstance(node.func, ast.Attribute) else None


_BOUNDING = words("""
    max amax clamp clamp_max clip abs log_softmax logsigmoid minimum log logsumexp norm cummax relu softplus
    sigmoid tanh square
""")


def is_bounded(method: Method, node: ast.expr) -> bool:
    """Whether an exponent cannot become large, as far as can be seen."""
    for child in closure(method.flow, node):
        if called(child) in _BOUNDING:
            return True
        if isinstance(child, ast.Pow) or (isinstance(child, ast.BinOp) and _is_square(child)):
            return True
        if isinstance(child, ast.Name) and ("max" in child.id or "lse" in child.id or "log" in child.id):
            return True
    return not any(isinstance(child, ast.Name) and _is_tensor(method, child) for child in closure(method.flow, node))


def _is_square(node: ast.BinOp) -> bool:
    return isinstance(node.op, ast.Mult) and text(node.left).lstrip("-") == text(node.right)


def _is_tensor(method: Method, node: ast.Name) -> bool:
    value = method.flow.values.get(node)
    return value is not None and any(root.startswith(("in.", "saved.")) for root in value.deps)
