"""Find graphs that forward records and backward consumes without keeping them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.events import Call
from pullback_lint.model.flow import Flow
from pullback_lint.model.function import Function
from pullback_lint.model.queries import keyword, literal
from pullback_lint.model.value import Value
from pullback_lint.model.walk import every
from pullback_lint.problem import Problem

CODE = "PB309"


def check_function(function: Function) -> Iterator[Problem]:
    backward = function.backward
    if backward is None or not _records(function):
        return
    for call in backward.flow.calls.values():
        graph = _graph(call)
        if graph is None or literal(keyword(call.node, "retain_graph")) is True or keyword(call.node, "create_graph"):
            continue
        if any(root.startswith("ctx.") for root in graph.alias):
            yield Problem(
                call.node,
                "the graph recorded in `forward` is freed here: a second backward pass raises",
                fix="record it again in backward, from saved inputs",
            )


def _records(function: Function) -> bool:
    return any(
        "enable_grad" in context
        for flow in function.fillers
        for call in flow.calls.values()
        for context in call.contexts
    ) or any(context.endswith("enable_grad") for flow in function.fillers for context in _with_blocks(flow))


def _with_blocks(flow: Flow) -> Iterator[str]:
    for node in every(flow.node, ast.With):
        for item in node.items:
            target = item.context_expr
            yield flow.imports.dotted(target.func if isinstance(target, ast.Call) else target)


def _graph(call: Call) -> Value | None:
    """What is differentiated."""
    if call.name == "grad" and "autograd" in call.dotted and call.arguments:
        return call.arguments[0]
    return call.receiver if call.name == "backward" else None
