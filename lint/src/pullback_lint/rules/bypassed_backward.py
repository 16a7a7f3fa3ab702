"""Find a backward that nothing calls: that of a module, or of a Function whose forward is called directly."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.module import Module, ancestry
from pullback_lint.model.queries import text
from pullback_lint.model.walk import every
from pullback_lint.problem import Problem

CODE = "PB107"


def check_module(module: Module) -> Iterator[Problem]:
    yield from _modules(module)
    yield from _direct_calls(module)


def _direct_calls(module: Module) -> Iterator[Problem]:
    """Calls of a Function's forward that go around apply."""
    functions = {function.name for function in module.functions if not function.is_operator}
    for call in module.calls if functions else ():
        func = call.func
        if not isinstance(func, ast.Attribute) or func.attr != "forward" or not isinstance(func.value, ast.Name):
            continue
        if func.value.id in functions and not _is_inside_function(module, call) and not _is_choice(module, call):
            yield Problem(
                call,
                f"`{func.value.id}.forward` is called directly: its `backward` never runs",
                fix=f"use `{func.value.id}.apply(…)`",
                severity="warning",
            )


def _is_choice(module: Module, call: ast.Call) -> bool:
    """Whether the function around the call asks whether gradients are wanted, and calls forward if they are not."""
    owner = module.parents.get(call)
    while owner is not None and not isinstance(owner, ast.FunctionDef):
        owner = module.parents.get(owner)
    shown = text(owner) if owner is not None else ""
    return (
        "grad_enabled" in shown
        or "requires_grad" in shown
        or (f"{text(call.func).removesuffix('.forward')}.apply" in shown)
    )


def _is_inside_function(module: Module, node: ast.AST) -> bool:
    line = getattr(node, "lineno", 0)
    return any(item.node.lineno <= line <= (item.node.end_lineno or 0) for item in module.functions)


def _modules(module: Module) -> Iterator[Problem]:
    """Modules with a backward."""
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
    returns = any(child.value is not None for child in every(node, ast.Return))
    return returns and any("grad" in name or name in {"g", "dy", "dout", "cotangent"} for name in names)


def _is_called(module: Module) -> bool:
    """Whether anything but a loss calls a method of that name with a gradient."""
    calls = [call for call in module.calls if isinstance(call.func, ast.Attribute) and call.func.attr == "backward"]
    return any(call.args or text(call.func) == "self.backward" for call in calls)
