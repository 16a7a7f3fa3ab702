"""Find Functions that are instantiated instead of applied."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.module import Module
from pullback_lint.problem import Problem

CODE = "PB118"


def check_module(module: Module) -> Iterator[Problem]:
    names = {
        function.name
        for function in module.functions
        if isinstance(function.node, ast.ClassDef)
        and not {"__call__", "__new__", "__init__"} & function.members.keys()
        and not function.node.keywords
    }
    for call in module.calls:
        if isinstance(call.func, ast.Name) and call.func.id in names and module.classes[call.func.id] is not None:
            yield Problem(
                call,
                f"`{call.func.id}` is instantiated; autograd.Functions are applied",
                fix=f"use `{call.func.id}.apply(…)`",
            )
