"""Find normalisation whose statistic is missing in the gradient: nothing is summed over the normalised dimension."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Element, Method
from pullback_lint.model.queries import (
    called,
    calls_of,
    closure,
    keyword,
    known,
    literal,
    mixes_cotangent,
    names_in,
    results,
    source_of,
    text,
)
from pullback_lint.model.walk import every, walk
from pullback_lint.problem import Problem

CODE = "PB210"


def check_function(function: Function) -> Iterator[Problem]:
    forward, backward = function.forward, function.backward
    if forward is None or backward is None or function.is_surrogate or _is_stepped(forward):
        return
    for index, parameter in enumerate(function.inputs):
        statistic = _statistic(forward, parameter.name)
        if statistic is None:
            continue
        for element in function.gradients_of(index):
            if not element.value.rooted("g.") or "opaque" in element.value.tags:
                continue
            if not mixes_cotangent(backward.flow, element.node) or _lacks_input(function, element, parameter.name):
                yield Problem(
                    element.node,
                    f"the gradient of `{parameter.name}` treats `{text(statistic)}` as a constant",
                    argument=parameter.name,
                    fix="add the derivative of the statistic",
                )


def _is_stepped(forward: Method) -> bool:
    return bool(calls_of(forward.node, {"round", "sign", "floor", "ceil", "clamp", "detach"}))


def _statistic(forward: Method, name: str) -> ast.AST | None:
    """A mean square, variance, deviation or norm of an input, by which the output is divided or multiplied."""
    for node in every(forward.node, ast.Call):
        if name in names_in(node) and _divides_whole(forward, node, name):
            return node
        if called(node) not in {"mean", "var", "std", "norm", "vector_norm"}:
            continue
        if literal(keyword(node, "keepdim")) is not True and literal(keyword(node, "keepdims")) is not True:
            continue
        if name in names_in(node) and _is_nonlinear(node) and _scales_result(forward, node):
            return node
    return None


def _divides_whole(forward: Method, statistic: ast.Call, name: str) -> bool:
    """Whether the output is the input, element by element, divided by one number made of all of it."""
    if called(statistic) not in _WHOLE or statistic.args[1:] or statistic.keywords or not _is_whole(forward, statistic):
        return False
    quotients = (shown for shown in results(forward) if isinstance(shown, ast.BinOp) and isinstance(shown.op, ast.Div))
    return any(text(item.left) == name and source_of(forward.flow, item.right) is statistic for item in quotients)


_WHOLE = {"max", "min", "amax", "amin", "sum", "mean", "norm", "std", "var"}


def _is_whole(forward: Method, call: ast.Call) -> bool:
    """Whether a reduction is told no dimension."""
    return len(call.args) == int(forward.imports.dotted(call.func).startswith("torch."))


def _is_nonlinear(node: ast.Call) -> bool:
    squares = (isinstance(child, ast.Pow) or called(child) in {"pow", "square"} for child in walk(node))
    return called(node) != "mean" or any(squares)


def _scales_result(forward: Method, statistic: ast.AST) -> bool:
    for item in forward.flow.returns.values():
        if item.node.value is None:
            continue
        nodes = list(closure(forward.flow, item.node.value))
        if statistic in nodes and any(isinstance(node, ast.Mult | ast.Div) for node in nodes):
            return True
    return False


def _lacks_input(function: Function, element: Element, name: str) -> bool:
    """Whether nothing but reductions of the input is behind the gradient."""
    roots = [root for root in element.value.deps if not root.startswith("g.")]
    values = [known(function, root) for root in roots]
    if any(value is None for value in values) or function.forward is None:
        return False
    flow = function.forward.flow
    for save in function.saves:
        for argument in save.arguments:
            if called(source_of(flow, argument)) not in {"std", "var", "norm", "vector_norm", "rsqrt", "sqrt"}:
                return False
    return bool(roots) and all(root.startswith("saved.") for root in roots)
