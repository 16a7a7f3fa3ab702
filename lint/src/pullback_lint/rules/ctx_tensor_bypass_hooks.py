"""Find tensors computed in forward and kept as attributes of the context."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.events import AttributeSet
from pullback_lint.model.function import Function
from pullback_lint.model.queries import names_in
from pullback_lint.problem import Problem

CODE = "PB308"


def check_function(function: Function) -> Iterator[Problem]:
    for name, items in function.sets.items():
        if not any(read.name == name for flow in function.readers for read in flow.reads.values()):
            continue
        for item in items:
            if _is_new_tensor(item) and not _is_returned(function, item):
                yield Problem(
                    item.node,
                    f"a tensor is kept as attribute `{name}`: saved-tensor hooks and checkpointing do not see it",
                    fix="use `save_for_backward`",
                )


def _is_new_tensor(item: AttributeSet) -> bool:
    value = item.value
    if value.aliases("in.") or value.alias == {"out"} or not value.rooted("in."):
        return False
    return "tensor" in value.tags and not value.tags & {"plain", "scalar", "opaque", "none", "list", "tuple", "dict"}


def _is_returned(function: Function, item: AttributeSet) -> bool:
    if function.forward is None or not isinstance(item.expr, ast.Name):
        return any(
            isinstance(node, ast.Attribute) and node.attr == item.name
            for result in (function.forward.results if function.forward else [])
            for node in [result.node.value]
        )
    return any(item.expr.id in names_in(result.node) for result in function.forward.results)
