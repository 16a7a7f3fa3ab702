"""Find gradients of a lookup that are written instead of added."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, known, text
from pullback_lint.model.value import Value
from pullback_lint.model.walk import walk
from pullback_lint.problem import Problem

CODE = "PB212"


def check_function(function: Function) -> Iterator[Problem]:
    backward, forward = function.backward, function.forward
    if backward is None or forward is None:
        return
    looked_up = _indices(forward)
    for mutation in backward.flow.mutations.values():
        index = _written(mutation.node)
        if index is None or not mutation.value.tags & {"zero", "empty"}:
            continue
        value = backward.flow.values.get(index)
        source = _input_behind(function, value) if value is not None else ""
        if source in looked_up:
            yield Problem(
                mutation.node,
                f"entries that `{text(index)}` repeats overwrite each other",
                argument=source,
                fix=f"use `{text(mutation.target)}.index_add_(0, {text(index)}, …)`",
            )


def _written(node: ast.AST) -> ast.expr | None:
    """The index of an assignment to elements, or of a scatter without addition."""
    if isinstance(node, ast.AugAssign):
        node = node.target
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name | ast.Attribute):
        return node.slice
    if called(node) == "scatter_" and isinstance(node, ast.Call) and len(node.args) == 3 and not node.keywords:
        return node.args[1]
    return None


def _indices(forward: Method) -> set[str]:
    """Inputs that forward uses as an index into another tensor."""
    found: set[str] = set()
    for node in walk(forward.node):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name):
            found.add(node.slice.id)
        elif isinstance(node, ast.Call) and called(node) in {"index_select", "gather", "embedding", "take"}:
            found |= {argument.id for argument in node.args if isinstance(argument, ast.Name)}
    return {name for name in found & {parameter.name for parameter in forward.parameters} if "mask" not in name}


def _input_behind(function: Function, value: Value) -> str:
    for root in value.alias:
        kept = known(function, root)
        if kept is not None and len(kept.alias) == 1:
            return next(iter(kept.alias)).removeprefix("in.")
    return ""
