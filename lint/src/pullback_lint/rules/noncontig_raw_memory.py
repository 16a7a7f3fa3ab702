"""Find memory of a cotangent or input read in order although its layout is unknown."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.events import Call
from pullback_lint.model.function import Function
from pullback_lint.model.queries import calls_of, names_in
from pullback_lint.model.value import Value
from pullback_lint.problem import Problem

CODE = "PB314"


def check_function(function: Function) -> Iterator[Problem]:
    helpers = _helpers(function)
    for method in (function.forward, function.backward):
        if method is None or any("contiguous" in name or "guard" in name for name in method.decorators):
            continue
        if calls_of(method.node, {"stride", "is_contiguous"}):
            continue
        for call in method.flow.calls.values():
            value = _read(function, call, helpers)
            if value is None or value.tags & {"contiguous", "tuple"} or _is_compared(function, call):
                continue
            roots = [root for root in value.alias if root.startswith(("g.", "in."))]
            if roots:
                name = min(roots).partition(".")[2]
                yield Problem(
                    call.node,
                    f"the memory of `{name}` is read as if it were contiguous",
                    argument=name,
                    fix=f"`{name} = {name}.contiguous()` first",
                    severity="warning",
                )


def _read(function: Function, call: Call, helpers: set[str]) -> Value | None:
    """The tensor whose memory a call reads."""
    if call.name == "data_ptr":
        return call.receiver
    if call.name == "as_strided":
        return call.receiver if call.receiver is not None else call.arguments[0] if call.arguments else None
    return call.arguments[0] if call.dotted in helpers and call.arguments else None


def _is_compared(function: Function, call: Call) -> bool:
    """Whether an address is only compared with another."""
    return isinstance(function.module.parents.get(call.node), ast.Compare)


def _helpers(function: Function) -> set[str]:
    """Functions of this file that read the memory of their first parameter."""
    if "data_ptr" not in function.module.source and "as_strided" not in function.module.source:
        return set()
    definitions = [node for node in function.module.tree.body if isinstance(node, ast.FunctionDef) and node.args.args]
    return {node.name for node in definitions if _reads_memory(node)}


def _reads_memory(node: ast.FunctionDef) -> bool:
    first = node.args.args[0].arg
    if calls_of(node, {"contiguous", "stride"}):
        return False
    return any(first in names_in(call) for call in calls_of(node, {"as_strided", "data_ptr"}))
