"""Find quotients and logarithms of exponentials of something unbounded."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TypeGuard

from pullback_lint import edits
from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.module import Module
from pullback_lint.model.queries import called, calls_of, closure, literal, text
from pullback_lint.model.tables import words
from pullback_lint.model.walk import every
from pullback_lint.problem import Edit, Problem

CODE = "PB601"


def check_function(function: Function) -> Iterator[Problem]:
    for method in (function.forward, function.backward):
        if method is None:
            continue
        for call in calls_of(method.node, {"log", "log1p"}):
            yield from _logarithm(method, call)
        for node in every(method.node, ast.BinOp):
            if isinstance(node.op, ast.Div):
                above, below = _exponentials(method, node.left), _exponentials(method, node.right)
                shared = above.keys() & below.keys()
                if shared:
                    yield Problem(
                        node,
                        f"`{below[min(shared)]}` overflows, and infinity / infinity is NaN",
                        fix="use `torch.sigmoid`, `torch.softmax` or `torch.tanh`, or subtract the maximum first",
                        severity="warning",
                        edits=_logistic(function.module, node),
                        safe=False,
                    )


def _logistic(module: Module, node: ast.BinOp) -> tuple[Edit, ...]:
    """`exp(x) / (1 + exp(x))` as the logistic function of x, and with a squared divisor as its derivative."""
    above = node.left.right if isinstance(node.left, ast.BinOp) and isinstance(node.left.op, ast.Mult) else node.left
    below, squared = (node.right.left, True) if _is_squared(node.right) else (node.right, False)
    if called(above) != "exp" or not isinstance(below, ast.BinOp) or not isinstance(below.op, ast.Add):
        return ()
    if {text(below.left), text(below.right)} - {"1", "1.0"} != {text(above)} or not isinstance(above, ast.Call):
        return ()
    start, end = edits.start_of(module, above), edits.end_of(module, node)
    written = text(above)
    replaced = written.replace(".exp(", ".sigmoid(", 1)
    if squared:
        if not above.args or not written.startswith("torch.exp("):
            return ()
        replaced = f"{replaced} * torch.sigmoid(-({text(above.args[0])}))"
    whole = isinstance(node.left, ast.Call) or start[0] == end[0] == node.lineno
    return (Edit(start, end, replaced),) if whole and _is_balanced(module, start, end) else ()


def _is_squared(node: ast.expr) -> TypeGuard[ast.BinOp]:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and literal(node.right) == 2


def _is_balanced(module: Module, start: tuple[int, int], end: tuple[int, int]) -> bool:
    """Whether a stretch of one line has as many parentheses that open as ones that close."""
    stretch = module.lines[start[0] - 1][start[1] : end[1]]
    return start[0] == end[0] and stretch.count("(") == stretch.count(")")


def _logarithm(method: Method, node: ast.Call) -> Iterator[Problem]:
    """`log(1 + exp(x))`."""
    operand = _argument(node, method)
    direct = isinstance(operand, ast.BinOp) or called(operand) in _GROWING
    shared = _exponentials(method, operand) if direct else {}
    if shared:
        yield Problem(
            node,
            f"`{shared[min(shared)]}` overflows to infinity",
            fix="use `torch.nn.functional.softplus` or `torch.logsumexp`",
            severity="warning",
        )


_GROWING = {"exp", "cosh", "sinh", "exp2", "expm1"}


def _exponentials(method: Method, node: ast.expr | None) -> dict[str, str]:
    """The exponentials of unbounded arguments behind an expression: for each argument the call, as text."""
    found: dict[str, str] = {}
    for child in closure(method.flow, node) if node is not None else ():
        if called(child) in _GROWING and isinstance(child, ast.Call):
            argument = _argument(child, method)
            if argument is not None and not is_bounded(method, argument):
                found[text(argument)] = text(child)
    return found


def _argument(node: ast.Call, method: Method) -> ast.expr | None:
    if node.args:
        return node.args[0]
    return node.func.value if isinstance(node.func, ast.Attribute) else None


_BOUNDED_NAME = re.compile(r"max|lse|log(?!it)")
_POSITIVE_NAME = re.compile(r"delay|dist|time|tau|decay|age|sq")
_BOUNDING = words("""
    max amax clamp clamp_max clip abs log_softmax logsigmoid minimum log log1p logsumexp norm cummax relu softplus
    sigmoid tanh square
""")


def is_bounded(method: Method, node: ast.expr) -> bool:
    """Whether an exponent cannot become large, as far as can be seen."""
    negated = any(isinstance(child.op, ast.USub) for child in every(node, ast.UnaryOp))
    for child in closure(method.flow, node):
        if negated and isinstance(child, ast.Name) and _POSITIVE_NAME.search(child.id):
            return True
        if called(child) in _BOUNDING:
            return True
        if isinstance(child, ast.Pow) or (isinstance(child, ast.BinOp) and _is_square(child)):
            return True
        if isinstance(child, ast.Name) and _BOUNDED_NAME.search(child.id):
            return True
    return not any(isinstance(child, ast.Name) and _is_tensor(method, child) for child in closure(method.flow, node))


def _is_square(node: ast.BinOp) -> bool:
    return isinstance(node.op, ast.Mult) and text(node.left).lstrip("-") == text(node.right)


def _is_tensor(method: Method, node: ast.Name) -> bool:
    value = method.flow.values.get(node)
    return value is not None and any(root.startswith(("in.", "saved.")) for root in value.deps)
