"""Find tensors that are saved whole although backward only compares them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.queries import known, loaded
from pullback_lint.problem import Problem

CODE = "PB704"


def check_function(function: Function) -> Iterator[Problem]:
    backward = function.backward
    if backward is None or function.is_operator or not function.own(backward) or len(function.readers) != 1:
        return
    for unpack in backward.flow.unpacks:
        for index, target in enumerate(unpack.targets):
            value = known(function, f"saved.{index}")
            if not isinstance(target, ast.Name) or value is None or not value.aliases("in."):
                continue
            reads = loaded(backward.node, target.id)
            outer = {_comparison(function, read) for read in reads}
            if reads and len(outer) == 1 and "" not in outer:
                yield Problem(
                    reads[0],
                    f"`{target.id}` is saved whole, and all that backward reads is `{outer.pop()}`",
                    fix="save that mask: a byte per element",
                    severity="note",
                )


def _comparison(function: Function, node: ast.Name) -> str:
    """The comparison with a number of which a name is a side, as text."""
    outer = function.module.parents.get(node)
    if not isinstance(outer, ast.Compare) or len(outer.ops) != 1:
        return ""
    other = outer.comparators[0] if outer.left is node else outer.left
    return ast.unparse(outer) if isinstance(other, ast.Constant | ast.UnaryOp) else ""
