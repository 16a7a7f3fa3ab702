"""Find a mask multiplied to a function that is infinite where the mask is zero."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, calls_of, names_in, source_of, text
from pullback_lint.model.walk import every
from pullback_lint.problem import Problem

CODE = "PB605"


class _Reader(NamedTuple):
    """Backward, and which names a mask protects from their own values: `where(mask, x, …)` anywhere."""

    method: Method
    guarded: dict[str, set[str]]


def _guarded(function: Function) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for method in (function.forward, function.backward):
        for node in calls_of(method.node, {"where"}) if method is not None else ():
            if len(node.args) == 3:
                condition, *sides = node.args
                if isinstance(condition, ast.Name):
                    found.setdefault(condition.id, set()).update(*map(names_in, sides[:1]))
    return found


_PARTIAL = {"log", "sqrt", "rsqrt", "reciprocal", "log2", "log10", "acos", "asin", "acosh", "atanh"}


def check_function(function: Function) -> Iterator[Problem]:
    if function.backward is None:
        return
    backward = _Reader(function.backward, _guarded(function))
    for node in every(backward.method.node, ast.BinOp):
        if isinstance(node.op, ast.Div) and _is_name_in(node.right, _masked(backward, node.left)):
            yield Problem(
                node,
                f"0 / 0 is NaN: `{text(node.right)}` is zero where the mask is",
                fix="divide by a safe value (`torch.where`)",
                severity="warning",
            )
        if not isinstance(node.op, ast.Mult):
            continue
        for mask, other in ((node.left, node.right), (node.right, node.left)):
            tested = _tested(backward, mask) | _masked(backward, mask)
            if tested and _partial_of(backward, other, tested):
                yield Problem(
                    node,
                    f"0 times infinity is NaN: `{text(other)}` is evaluated where the mask is 0",
                    fix="replace the argument where it is masked (`torch.where`), then evaluate",
                    severity="warning",
                )
                break


def _is_name_in(node: ast.expr, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _masked(backward: _Reader, node: ast.expr) -> set[str]:
    """The names that a mask among the factors of a product compares with zero."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return set()
    return _tested(backward, node.right) | (_tested(backward, node.left) or _masked(backward, node.left))


def _tested(backward: _Reader, node: ast.expr) -> set[str]:
    """The names that a mask compares with something."""
    if isinstance(node, ast.BinOp):
        return _tested(backward, node.right)
    if isinstance(node, ast.Name) and node.id in backward.guarded:
        return backward.guarded[node.id]
    shown = source_of(backward.method.flow, node)
    while (
        isinstance(shown, ast.Call)
        and called(shown) in {"to", "float", "type_as", "double"}
        and isinstance(shown.func, ast.Attribute)
    ):
        shown = source_of(backward.method.flow, shown.func.value)
    return names_in(shown) - {"torch"} if isinstance(shown, ast.Compare) else set()


def _partial_of(backward: _Reader, node: ast.expr, names: set[str]) -> bool:
    for child in every(node, ast.Call):
        if called(child) in _PARTIAL:
            arguments = [*child.args, *([child.func.value] if isinstance(child.func, ast.Attribute) else [])]
            if any(isinstance(argument, ast.Name) and argument.id in names for argument in arguments):
                return True
    return False
