"""Operators made with torch.library, with what is registered for them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from pullback_lint.model.function import Function

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pullback_lint.model.flow import FunctionNode
    from pullback_lint.model.module import Module

_MAKERS = {
    "torch.library.custom_op",
    "torch.library.triton_op",
    "torch._library.custom_op",
    "torch._custom_ops.custom_op",
}


class Operator:
    """A `torch.library.custom_op`.

    Args:
        name: The name of the Python function.
        node: The function.
        qualified: The operator's name, such as `geo::spread`.
        mutates: The arguments it declares to change; None if that is not a plain literal.

    Attributes:
        registered: What is registered for it, by the registering function's name.
        function: It and its gradient, as rules for Functions see it.
    """

    def __init__(self, name: str, node: FunctionNode, qualified: str, mutates: frozenset[str] | None) -> None:
        self.name = name
        self.node = node
        self.qualified = qualified
        self.mutates = mutates
        self.registered: dict[str, ast.Call | FunctionNode] = {}
        self.function: Function | None = None


def operators_of(module: Module) -> Iterator[Operator]:
    """All operators of a module."""
    if "custom_op" not in module.source and "triton_op" not in module.source:
        return
    definitions = {node.name: node for node in module.nodes if isinstance(node, ast.FunctionDef)}
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            operator = _operator(module, node)
            if operator is not None:
                _register(module, operator)
                _attach(module, operator, definitions)
                yield operator


def _operator(module: Module, node: FunctionNode) -> Operator | None:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and module.imports.dotted(decorator.func) in _MAKERS:
            first = decorator.args[0] if decorator.args else None
            qualified = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
            return Operator(node.name, node, qualified, _mutates(decorator))
    return None


def _mutates(call: ast.Call) -> frozenset[str] | None:
    for keyword in call.keywords:
        if keyword.arg == "mutates_args":
            try:
                value = ast.literal_eval(keyword.value)
            except ValueError:
                return None
            return frozenset([value] if isinstance(value, str) else value)
    return frozenset()


def _register(module: Module, operator: Operator) -> None:
    for call in module.calls:
        name = _registers(module, operator, call)
        if name:
            operator.registered[name] = call
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                name = _decorates(module, operator, decorator)
                if name:
                    operator.registered[name] = node


def _registers(module: Module, operator: Operator, call: ast.Call) -> str:
    if not isinstance(call.func, ast.Attribute) or not call.func.attr.startswith("register_"):
        return ""
    if isinstance(call.func.value, ast.Name) and call.func.value.id == operator.name:
        return call.func.attr
    if module.imports.dotted(call.func).startswith("torch.library.") and call.args:
        first = call.args[0]
        same = isinstance(first, ast.Constant) and first.value == operator.qualified
        return call.func.attr if same or (isinstance(first, ast.Name) and first.id == operator.name) else ""
    return ""


def _decorates(module: Module, operator: Operator, decorator: ast.expr) -> str:
    if isinstance(decorator, ast.Call):
        return _registers(module, operator, decorator)
    if isinstance(decorator, ast.Attribute) and isinstance(decorator.value, ast.Name):
        return decorator.attr if decorator.value.id == operator.name and decorator.attr.startswith("register_") else ""
    return ""


def _attach(module: Module, operator: Operator, definitions: dict[str, ast.FunctionDef]) -> None:
    call = operator.registered.get("register_autograd")
    if not isinstance(call, ast.Call):
        return
    members: dict[str, tuple[FunctionNode, Module]] = {"forward": (operator.node, module)}
    given = [argument for argument in call.args if isinstance(argument, ast.Name) and argument.id in definitions]
    given = [argument for argument in given if argument.id != operator.name]
    if given:
        members["backward"] = (definitions[given[0].id], module)
    complete = all(isinstance(item.value, ast.Name) and item.value.id in definitions for item in call.keywords)
    for keyword in call.keywords:
        if isinstance(keyword.value, ast.Name) and keyword.value.id in definitions:
            role = {"setup_context": "setup_context", "backward": "backward"}.get(keyword.arg or "")
            if role:
                members[role] = (definitions[keyword.value.id], module)
    if "backward" in members:
        operator.function = Function(
            operator.name, operator.node, module, members, {}, complete=complete, is_operator=True
        )
