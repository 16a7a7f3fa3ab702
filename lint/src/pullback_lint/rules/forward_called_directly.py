"""Find calls of a Function's forward that go around apply."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.module import Module
from pullback_lint.problem import Problem

CODE = "PB119"


def check_module(module: Module) -> Iterator[Problem]:
    functions = {function.name: function for function in module.functions if not function.is_operator}
    for call in module.calls:
        func = call.func
        if not isinstance(func, ast.Attribute) or func.attr != "forward" or not isinstance(func.value, ast.Name):
            continue
        if func.value.id in functions and not _inside_function(module, call):
            yield Problem(
                call,
                f"`{func.value.id}.forward` is called directly: its `backward` never runs",
                fix=f"use `{func.value.id}.apply(…)`",
            )


def _inside_function(module: Module, node: ast.AST) -> bool:
    line = getattr(node, "lineno", 0)
    return any(item.node.lineno <= line <= (item.node.end_lineno or 0) for item in module.functions)
