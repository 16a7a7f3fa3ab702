"""Find several gradients, some of them dear, that are always computed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, closure
from pullback_lint.problem import Problem

CODE = "PB701"


_DEAR = {
    "matmul",
    "mm",
    "bmm",
    "einsum",
    "sum",
    "conv1d",
    "conv2d",
    "conv3d",
    "outer",
    "addmm",
    "linear",
    "solve",
    "inv",
}


def check_function(function: Function) -> Iterator[Problem]:
    backward = function.backward
    if backward is None or function.is_operator or not function.own(backward):
        return
    if any("needs_input_grad" in {read.name for read in flow.reads.values()} for flow in function.readers):
        return
    for result, elements in function.gradients:
        dear = [e for e in elements if e.value.rooted("g.") and _is_dear(backward, e.node)]
        real = [e for e in elements if not e.is_none]
        if len(real) > 1 and dear:
            yield Problem(
                result.node,
                f"{len(real)} gradients are computed, whichever are needed",
                fix=f"guard each with `{backward.ctx}.needs_input_grad[…]`",
            )
            return


def _is_dear(backward: Method, node: ast.expr) -> bool:
    return any(
        called(child) in _DEAR or (isinstance(child, ast.BinOp) and isinstance(child.op, ast.MatMult))
        for child in closure(backward.flow, node)
    )
