"""Find a loss whose reduction can be chosen and whose backward always averages."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, loaded, names_in
from pullback_lint.model.walk import walk
from pullback_lint.problem import Problem

CODE = "PB206"


def check_function(function: Function) -> Iterator[Problem]:
    forward, backward = function.forward, function.backward
    if forward is None or backward is None:
        return
    choice = _choice(forward, {parameter.name for parameter in function.inputs})
    if choice is None or _reads_choice(function, backward, choice):
        return
    division = _average(backward)
    if division is not None and len(loaded(forward.node, choice)) == 1:
        yield Problem(
            division,
            f"`forward` averages or sums as `{choice}` says, but `backward` always averages",
            argument=choice,
            fix=f"keep `{choice}` on the context and divide under the same condition",
        )


def _choice(forward: Method, inputs: set[str]) -> str | None:
    """The input that chooses between `.mean()` and `.sum()`."""
    for node in walk(forward.node):
        if isinstance(node, ast.If | ast.IfExp):
            names = names_in(node.test) & inputs
            ends = {called(child) for child in walk(node) if isinstance(child, ast.Call)}
            if len(names) == 1 and {"mean", "sum"} <= ends:
                return names.pop()
    return None


def _reads_choice(function: Function, backward: Method, choice: str) -> bool:
    kept = {name for name, items in function.sets.items() if any(f"in.{choice}" in item.value.deps for item in items)}
    return any(read.name in kept for read in backward.flow.reads.values())


def _average(backward: Method) -> ast.AST | None:
    for node in walk(backward.node):
        if (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Div)
            and called(node.right) in {"numel", "len", "size"}
        ):
            return node
        if called(node) == "mean" and isinstance(node, ast.Call) and not node.args:
            return node
    return None
