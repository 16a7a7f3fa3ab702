"""Find plain data given to save_for_backward."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.flow import Flow
from pullback_lint.model.function import Function
from pullback_lint.model.queries import called, source_of, text
from pullback_lint.model.value import Value
from pullback_lint.problem import Problem

CODE = "PB129"


def check_function(function: Function) -> Iterator[Problem]:
    for flow in function.fillers:
        for save in flow.saves.values():
            for argument in save.arguments:
                if _is_plain(function, flow, argument):
                    yield Problem(
                        argument,
                        f"`{text(argument)}` is not a tensor and cannot be saved",
                        fix="keep plain data as an attribute of the context",
                    )


def _is_plain(function: Function, flow: Flow, node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return node.value is not None
    if isinstance(node, ast.List | ast.Tuple | ast.Dict | ast.ListComp):
        return True
    if isinstance(node, ast.Name) and any(
        parameter.name == node.id and parameter.annotation in {"int", "float", "bool", "str"}
        for parameter in function.inputs
    ):
        return True
    shown = source_of(flow, node)
    if isinstance(shown, ast.Subscript):
        shown = shown.value
    if isinstance(shown, ast.Call):
        return called(shown) in {"size", "dim", "numel", "len"} and "plain" in flow.values.get(shown, Value()).tags
    return (
        isinstance(shown, ast.Attribute)
        and shown.attr in {"shape", "dtype", "device"}
        and "plain" in flow.values.get(shown, Value()).tags
    )
