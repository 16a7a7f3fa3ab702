"""Find builtins that are read as if they were the tensor that forward calls so."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.module import BUILTINS
from pullback_lint.model.queries import called, loaded
from pullback_lint.model.walk import every
from pullback_lint.problem import Problem

CODE = "PB122"
_CONSTANTS = {"NotImplemented", "__debug__", "Ellipsis", "__name__", "__doc__"}


def check_function(function: Function) -> Iterator[Problem]:
    backward, forward = function.backward, function.forward
    if backward is None or forward is None or not function.own(backward):
        return
    inputs = {parameter.name for parameter in forward.parameters}
    bound = set(backward.flow.assignments) | {arg.arg for arg in every(backward.node, ast.arg)}
    bound |= {n.id for n in every(backward.node, ast.Name) if not isinstance(n.ctx, ast.Load)}
    for name in sorted((inputs & BUILTINS) - bound - function.module.module_names):
        for node in _uses(backward.node, name):
            yield Problem(
                node,
                f"`{name}` is the builtin here, not the input of `forward`",
                argument=name,
                fix=f"save the tensor and unpack it: `({name},) = {backward.ctx}.saved_tensors`",
            )
    for node in _operands(backward.node):
        if node.id not in bound | inputs | function.module.module_names | _CONSTANTS:
            yield Problem(node, f"`{node.id}` is the builtin here, not a tensor", fix="use the name of the tensor")


def _operands(tree: ast.AST) -> Iterator[ast.Name]:
    """Builtin functions that arithmetic or an order is asked of, which always raises."""
    sides: list[ast.expr] = []
    for node in every(tree, ast.BinOp):
        sides += [] if isinstance(node.op, ast.BitOr) else [node.left, node.right]
    for test in every(tree, ast.Compare):
        if all(isinstance(op, ast.Gt | ast.GtE | ast.Lt | ast.LtE) for op in test.ops):
            sides += [test.left, *test.comparators]
    yield from (side for side in sides if isinstance(side, ast.Name) and side.id in BUILTINS)


def _uses(tree: ast.AST, name: str) -> list[ast.Name]:
    """Reads of a name other than calls of it."""
    calls = {id(node.func) for node in every(tree, ast.Call)}
    types = {id(a) for node in every(tree, ast.Call) if called(node) == "isinstance" for a in node.args}
    return [node for node in loaded(tree, name) if id(node) not in calls | types]
