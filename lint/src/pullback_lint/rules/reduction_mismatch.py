"""Find a loss whose reduction can be chosen and whose backward always averages."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, closure, loaded, names_in, source_of
from pullback_lint.model.walk import every, walk
from pullback_lint.problem import Problem

CODE = "PB206"


def check_function(function: Function) -> Iterator[Problem]:
    forward, backward = function.forward, function.backward
    if forward is None or backward is None:
        return
    choice = _choice(forward, {parameter.name for parameter in function.inputs})
    if choice is None:
        yield from _fixed(function, forward, backward)
    if choice is None or _reads_choice(function, backward, choice):
        return
    division = _average(backward)
    if division is not None and _asked(forward, choice) == 1:
        yield Problem(
            division,
            f"`forward` averages or sums as `{choice}` says, but `backward` always averages",
            argument=choice,
            fix=f"keep `{choice}` on the context and divide under the same condition",
        )


def _fixed(function: Function, forward: Method, backward: Method) -> Iterator[Problem]:
    """A forward that always averages, and a gradient that nothing divides."""
    ends = [source_of(forward.flow, item.node.value) for item in forward.flow.returns.values() if item.node.value]
    if not ends or not all(_is_whole(forward, end) for end in ends) or function.is_surrogate:
        return
    if all(called(end) == "sum" for end in ends):
        yield from _averaged(function, backward)
    if not all(called(end) == "mean" for end in ends):
        return
    kept = [argument for save in function.saves for argument in save.arguments]
    kept += [item.expr for items in function.sets.values() for item in items if item.expr is not None]
    if any(_divides(node) for argument in kept for node in closure(forward.flow, argument)):
        return
    for element in function.gradients_of(0):
        value = element.value
        if not value.rooted("g.") or value.tags & {"opaque", "autograd-tuple"} or not value.rooted("saved."):
            continue
        if not any(_divides(node) for node in closure(backward.flow, element.node)):
            yield Problem(
                element.node,
                "`forward` averages, but nothing divides this gradient by the number of elements",
                argument=function.first,
                fix="divide by `x.numel()`",
            )


def _averaged(function: Function, backward: Method) -> Iterator[Problem]:
    """A gradient that is divided by the number of elements, although forward only adds up."""
    for element in function.gradients_of(0):
        for node in closure(backward.flow, element.node):
            if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
                continue
            if called(node.right) in {"numel", "len", "nelement"}:
                yield Problem(
                    node,
                    "`forward` sums, but this gradient is divided by the number of elements",
                    argument=function.first,
                    fix="do not divide",
                )


def _is_whole(forward: Method, node: ast.expr) -> bool:
    """Whether a mean is taken over all elements."""
    if not isinstance(node, ast.Call) or node.keywords:
        return False
    return len(node.args) == int(forward.imports.dotted(node.func).startswith("torch."))


def _divides(node: ast.AST) -> bool:
    words = {"mean", "numel", "len", "size", "shape", "nelement", "div", "reciprocal"}
    if isinstance(node, ast.Div) or called(node) in words:
        return True
    return isinstance(node, ast.Attribute) and node.attr in words


def _choice(forward: Method, inputs: set[str]) -> str | None:
    """The input that chooses between `.mean()` and `.sum()`."""
    branches: list[ast.If | ast.IfExp] = [*every(forward.node, ast.If), *every(forward.node, ast.IfExp)]
    for node in branches:
        names = names_in(node.test) & inputs
        chooses = any(child.value == "mean" for child in every(node.test, ast.Constant))
        where = forward.node if chooses else node
        ends = {called(child) for child in every(where, ast.Call)}
        if len(names) == 1 and {"mean", "sum"} <= ends:
            return names.pop()
    return None


def _reads_choice(function: Function, backward: Method, choice: str) -> bool:
    kept = {name for name, items in function.sets.items() if any(f"in.{choice}" in item.value.deps for item in items)}
    return any(read.name in kept for read in backward.flow.reads.values())


def _asked(forward: Method, choice: str) -> int:
    """How often forward looks at the choice, other than to keep it."""
    kept = [item.expr for item in forward.flow.sets.values()]
    return sum(node not in kept for node in loaded(forward.node, choice))


def _average(backward: Method) -> ast.AST | None:
    for node in walk(backward.node):
        if (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Div)
            and called(node.right) in {"numel", "len", "size", "nelement"}
        ):
            return node
        if called(node) == "mean" and isinstance(node, ast.Call) and not node.args:
            return node
    return None
