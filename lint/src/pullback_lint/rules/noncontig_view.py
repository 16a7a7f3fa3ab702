"""Find views of the cotangent, whose layout is unknown."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint import edits
from pullback_lint.model.events import Call
from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import literal, source_of, text
from pullback_lint.model.value import Value
from pullback_lint.problem import Edit, Problem

CODE = "PB313"


def check_function(function: Function) -> Iterator[Problem]:
    backward = function.backward
    if backward is None or _is_guarded(backward):
        return
    for call in backward.flow.calls.values():
        if call.name != "view" or call.receiver is None or not isinstance(call.node.func, ast.Attribute):
            continue
        strided = call.receiver.aliases("g.") or _is_scaled(backward, call.node.func.value)
        if not strided or "contiguous" in call.receiver.tags or not _may_fail(function, call):
            continue
        name = text(call.node.func.value)
        yield Problem(
            call.node,
            f"`{name}` may be transposed or expanded: `view` raises then",
            fix="use `reshape`",
            edits=_edits(function, call.node.func),
            severity="warning",
        )


def _is_guarded(backward: Method) -> bool:
    """Whether a decorator makes all arguments contiguous."""
    return any("contiguous" in name or "guard" in name for name in backward.decorators)


def _is_scaled(backward: Method, node: ast.expr) -> bool:
    """Whether it is the cotangent times or plus a number, which has the cotangent's layout."""
    node = source_of(backward.flow, node)
    if not isinstance(node, ast.BinOp) or isinstance(node.op, ast.MatMult):
        return False
    for side, other in ((node.left, node.right), (node.right, node.left)):
        value = backward.flow.values.get(side, Value())
        if value.aliases("g.") and "contiguous" not in value.tags and isinstance(literal(other), int | float):
            return True
    return False


def _may_fail(function: Function, call: Call) -> bool:
    """Whether the view may merge dimensions: not a change of dtype, nor new dimensions of one column or row."""
    if not call.node.args or any("dtype" in text(argument) for argument in call.node.args):
        return False
    if function.module.imports.dotted(call.node.args[0]).startswith("torch."):
        return False
    sizes = [literal(argument) for argument in call.node.args]
    return not (1 in sizes and sum(size != 1 for size in sizes) <= 1)


def _edits(function: Function, func: ast.Attribute) -> tuple[Edit, ...]:
    line, column = edits.end_of(function.module, func)
    return (Edit((line, column - len("view")), (line, column), "reshape"),)
