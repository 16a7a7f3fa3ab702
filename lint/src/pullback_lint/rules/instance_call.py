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
                severity="warning" if _is_applied(module, call) else None,
            )


def _is_applied(module: Module, call: ast.Call) -> bool:
    """Whether the instance serves only to reach `apply`, which works with a warning of PyTorch's."""
    parent = module.parents.get(call)
    if isinstance(parent, ast.Attribute):
        return parent.attr == "apply"
    if not isinstance(parent, ast.Assign) or not isinstance(parent.targets[0], ast.Name | ast.Attribute):
        return False
    name = ast.unparse(parent.targets[0])
    called = [ast.unparse(item.func) for item in module.calls]
    return f"{name}.apply" in called and name not in called
