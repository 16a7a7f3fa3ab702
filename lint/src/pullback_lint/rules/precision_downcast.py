"""Find casts to a fixed precision in backward that are never undone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, closure, text
from pullback_lint.problem import Problem

CODE = "PB606"


_LOWER = {"float", "half", "bfloat16"}


def check_function(function: Function) -> Iterator[Problem]:
    backward = function.backward
    if backward is None or function.is_surrogate:
        return
    for _, elements in function.gradients:
        for element in elements:
            if element.value.rooted("g.") and not _is_undone(backward, element.node):
                for node in closure(backward.flow, element.node):
                    if _is_cast(backward, node):
                        yield Problem(
                            node,
                            f"`{text(node)}` fixes the precision, and the gradient is never cast back",
                            fix="stay in the input's dtype, or cast the gradient back to it",
                            severity="note" if "float" in text(node) else "warning",
                        )
                        return


def _is_undone(backward: Method, node: ast.expr) -> bool:
    return any(
        (called(child) in {"to", "type", "type_as"} and not _is_cast(backward, child)) or called(child) == "double"
        for child in closure(backward.flow, node)
    )


def _is_cast(backward: Method, node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    value = backward.flow.values.get(node.func.value)
    if value is None or not any(root.startswith(("g.", "saved.")) for root in value.deps) or "mask" in value.tags:
        return False
    if node.func.attr in _LOWER:
        return not node.args and bool(value.smooth or value.alias)
    if node.func.attr == "to" and node.args:
        return backward.imports.dotted(node.args[0]) in {
            "torch.float32",
            "torch.float16",
            "torch.bfloat16",
            "torch.half",
            "torch.float",
        }
    return False
