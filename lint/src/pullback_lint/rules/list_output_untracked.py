"""Find lists and dicts of tensors that forward returns."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.queries import source_of
from pullback_lint.problem import Problem

CODE = "PB109"


def check_function(function: Function) -> Iterator[Problem]:
    forward = function.forward
    if forward is None or function.is_operator:
        return
    for item in forward.flow.returns.values():
        if item.node.value is None:
            continue
        shown = source_of(forward.flow, item.node.value)
        if isinstance(shown, ast.List | ast.ListComp | ast.Dict | ast.DictComp) and item.value.deps:
            kind = "dict" if isinstance(shown, ast.Dict | ast.DictComp) else "list"
            yield Problem(
                item.node,
                f"`forward` returns a {kind}: its tensors are not part of the graph",
                fix="return a tuple",
            )
