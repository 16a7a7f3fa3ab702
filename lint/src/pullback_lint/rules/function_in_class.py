"""Find @pullback.function in class bodies."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.module import Module
from pullback_lint.problem import Problem

CODE = "PB131"


def check_module(module: Module) -> Iterator[Problem]:
    if "pullback" not in module.source:
        return
    for node in module.class_nodes:
        for item in node.body:
            if isinstance(item, ast.FunctionDef):
                for decorator in item.decorator_list:
                    dotted = module.imports.dotted(decorator.func if isinstance(decorator, ast.Call) else decorator)
                    if dotted in {"pullback.function", "pullback.define.function"}:
                        yield Problem(
                            decorator,
                            f"`{item.name}` is a method: `self` would be an argument",
                            fix="define the Function at module level and call it from the method",
                        )
