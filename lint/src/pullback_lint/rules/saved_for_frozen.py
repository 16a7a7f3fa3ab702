"""Find inputs that are always saved, though backward reads them under a condition on what needs a gradient."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.flow import Flow
from pullback_lint.model.function import Function
from pullback_lint.model.queries import loaded, text
from pullback_lint.model.walk import words_in
from pullback_lint.problem import Problem

CODE = "PB705"


def check_function(function: Function) -> Iterator[Problem]:
    backward = function.backward
    if backward is None or not function.own(backward) or len(function.saves) != 1:
        return
    if "needs_input_grad" not in words_in(backward.node):
        return
    (save,) = function.saves
    if save.guards or len(backward.flow.unpacks) != 1 or len(save.values or ()) != len(save.arguments):
        return
    targets = backward.flow.unpacks[0].targets
    for argument, target in zip(save.arguments, targets, strict=False):
        condition = _condition(function, backward.flow, target)
        if condition and isinstance(argument, ast.Name) and argument.id in {item.name for item in function.inputs}:
            yield Problem(
                argument,
                f"`{argument.id}` is saved on every path, but read only if `{condition}`",
                argument=argument.id,
                fix=f"save `{argument.id} if … else None`, with the same condition",
            )


def _condition(function: Function, flow: Flow, target: ast.expr) -> str:
    """The one condition on `needs_input_grad` under which a saved tensor is read; empty if there is none or several."""
    reads = loaded(flow.node, target.id) if isinstance(target, ast.Name) else []
    tests = {_test(function, read) for read in reads}
    return tests.pop() if len(tests) == 1 else ""


def _test(function: Function, node: ast.AST) -> str:
    """The condition on `needs_input_grad` around a read; empty if there is none, or if it is read where that fails."""
    parents = function.module.parents
    inner: ast.AST | None = node
    while inner is not None:
        outer = parents.get(inner)
        if isinstance(outer, ast.If | ast.IfExp) and "needs_input_grad" in words_in(outer.test):
            taken = outer.body if isinstance(outer.body, list) else [outer.body]
            return text(outer.test) if inner in taken else ""
        inner = outer
    return ""
