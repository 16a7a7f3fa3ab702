"""Find divisions by a norm that may be zero."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, source_of, text
from pullback_lint.model.walk import walk
from pullback_lint.problem import Problem

CODE = "PB604"


_SAFE = {"where", "clamp", "clamp_min", "maximum", "nan_to_num", "masked_fill", "masked_fill_", "clamp_", "clamp_min_"}


def check_function(function: Function) -> Iterator[Problem]:
    backward = function.backward
    if backward is None or any(called(node) in _SAFE for node in walk(backward.node)):
        return
    for node in walk(backward.node):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and _is_norm(function, backward, node.right):
            yield Problem(
                node,
                f"`{text(node.right)}` may be zero: the gradient is NaN there",
                fix="divide by `torch.where(n == 0, torch.ones_like(n), n)`, or clamp it from below",
                severity="warning",
            )
            return


def _is_norm(function: Function, backward: Method, node: ast.expr) -> bool:
    """Whether an expression is a bare norm, computed here or in forward."""
    shown = source_of(backward.flow, node)
    if called(shown) in {"norm", "vector_norm"}:
        return True
    value = backward.flow.values.get(node)
    if not isinstance(node, ast.Name) or value is None or len(value.alias) != 1 or len(function.saves) != 1:
        return False
    index = min(value.alias).removeprefix("saved.")
    if function.forward is None or not index.isdigit() or int(index) >= len(function.saves[0].arguments):
        return False
    kept = source_of(function.forward.flow, function.saves[0].arguments[int(index)])
    return called(kept) in {"norm", "vector_norm"}
