"""Find what forward writes to a global or a class attribute and backward reads."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.events import Call
from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import text
from pullback_lint.model.walk import every
from pullback_lint.problem import Problem

CODE = "PB310"


def check_function(function: Function) -> Iterator[Problem]:
    forward, backward = function.forward, function.backward
    if forward is None or backward is None or not function.own(backward):
        return
    written = _written(function, forward)
    for node in _expressions(backward) if written else ():
        name = _read(function, node)
        if name in written:
            yield Problem(
                node,
                f"`{name}` is written by `forward` (line {written[name].lineno}): a second call overwrites it",
                fix="keep it on the context",
            )
            return


def _expressions(method: Method) -> tuple[ast.Name | ast.Attribute, ...]:
    return *every(method.node, ast.Name), *every(method.node, ast.Attribute)


def _written(function: Function, forward: Method) -> dict[str, ast.expr]:
    found: dict[str, ast.expr] = {}
    for node in (*_expressions(forward), *every(forward.node, ast.Subscript)):
        if isinstance(node.ctx, ast.Load):
            continue
        name = _place(function, node)
        if name and not isinstance(function.module.parents.get(node), ast.AugAssign) and not _is_cache(function, node):
            found[name] = node
    for call in forward.flow.calls.values():
        name = _filled(function, call)
        if name and not _is_cache(function, call.node):
            found[name] = call.node
    local = {name for name in forward.flow.assignments if name not in forward.flow.global_names}
    return {name: node for name, node in found.items() if name.partition(".")[0] not in local}


def _filled(function: Function, call: Call) -> str:
    """The global container that a call fills."""
    func = call.node.func
    if call.name not in {"append", "update", "add", "setdefault", "extend", "insert", "appendleft", "push"}:
        return ""
    if not isinstance(func, ast.Attribute):
        return ""
    if isinstance(func.value, ast.Attribute):
        return _place(function, func.value)
    if not isinstance(func.value, ast.Name):
        return ""
    known = function.module.module_names - function.module.imports.names.keys()
    return func.value.id if func.value.id in known else ""


def _is_cache(function: Function, node: ast.AST) -> bool:
    """Whether it is written once, when it is missing."""
    parent = function.module.parents.get(node)
    while parent is not None and not isinstance(parent, ast.FunctionDef):
        if isinstance(parent, ast.If) and ("None" in text(parent.test) or " in " in text(parent.test)):
            return True
        parent = function.module.parents.get(parent)
    return False


def _place(function: Function, node: ast.expr) -> str:
    """The global or class attribute that an assignment writes."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
        return _place(function, node.value)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        known = function.module.module_names
        return node.value.id if node.value.id in known and node.value.id not in function.module.imports.names else ""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{function.name}.{node.attr}" if node.value.id in {function.name, "cls"} else ""
    forward = function.forward
    return (
        node.id if isinstance(node, ast.Name) and forward is not None and node.id in forward.flow.global_names else ""
    )


def _read(function: Function, node: ast.AST) -> str:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Name):
        return f"{function.name}.{node.attr}" if node.value.id in {function.name, "cls"} else ""
    return ""
