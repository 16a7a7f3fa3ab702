"""Find long constants that almost agree between forward and backward."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.walk import walk
from pullback_lint.problem import Problem

CODE = "PB219"


def check_function(function: Function) -> Iterator[Problem]:
    forward, backward = function.forward, function.backward
    if forward is None or backward is None or forward.node is backward.node:
        return
    ours = {value for value, _ in _constants(forward.node)}
    theirs = {value for value, _ in _constants(backward.node)}
    for value, node in _constants(backward.node):
        if value in ours:
            continue
        near = [other for other in ours - theirs if 1e-7 < abs(value - other) / abs(other) < 2e-3]
        if near:
            yield Problem(
                node,
                f"`forward` has {near[0]!r}, `backward` has {value!r}",
                fix="give the constant a name and use it in both",
            )


def _constants(tree: ast.AST) -> Iterator[tuple[float, ast.Constant]]:
    """Floats with at least four significant digits."""
    for node in walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, float) and 0 < abs(node.value) < 1e15:
            digits = repr(node.value).replace(".", "").strip("0")
            if len(digits) >= 4:
                yield node.value, node
