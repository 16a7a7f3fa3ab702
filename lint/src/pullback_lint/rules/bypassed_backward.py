"""Find modules that define a backward which nothing calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.module import Module, ancestry
from pullback_lint.model.queries import text
from pullback_lint.model.walk import walk
from pullback_lint.problem import Problem

CODE = "PB107"


def check_module(module: Module) -> Iterator[Problem]:
    if "def backward" not in module.source:
        return
    for node in module.class_nodes:
        backward = next(
            (item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "backward"), None
        )
        if backward is None or not _takes_cotangent(backward) or not _is_module(module, node):
            continue
        if "forward" not in {item.name for item in node.body if isinstance(item, ast.FunctionDef)}:
            continue
        if not _is_called(module):
            yield Problem(
                backward,
                f"`{node.name}.backward` is never called: `nn.Module` has no backward protocol",
                fix="put forward and backward into an `autograd.Function` and call its `apply` from the module",
            )


def _is_module(module: Module, node: ast.ClassDef) -> bool:
    return any(kind == "Module" for _, kind, _ in ancestry(module, node))


def _takes_cotangent(node: ast.FunctionDef) -> bool:
    """Whether it is written like a backward: a gradient in, a gradient out."""
    if node.decorator_list or not node.args.args or node.args.args[0].arg != "self":
        return False
    names = [arg.arg.lower() for arg in node.args.args]
    returns = any(isinstance(child, ast.Return) and child.value is not None for child in walk(node))
    return returns and any("grad" in name or name in {"g", "dy", "dout", "cotangent"} for name in names)


def _is_called(module: Module) -> bool:
    """Whether anything but a loss calls a method of that name with a gradient."""
    calls = [call for call in module.calls if isinstance(call.func, ast.Attribute) and call.func.attr == "backward"]
    return any(call.args or text(call.func) == "self.backward" for call in calls)
