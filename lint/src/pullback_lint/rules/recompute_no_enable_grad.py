"""Find differentiation inside of backward of what was computed there without recording."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.events import Call
from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import source_of
from pullback_lint.model.value import Value
from pullback_lint.model.walk import words_in
from pullback_lint.problem import Problem

CODE = "PB403"


def check_function(function: Function) -> Iterator[Problem]:
    backward = function.backward
    if backward is None or _switches_on(backward):
        return
    for call in backward.flow.calls.values():
        graph = _graph(call)
        if _is_rerun(backward, call):
            yield Problem(
                call.node,
                "what runs inside of `backward` is not recorded: there is no graph to differentiate",
                fix="recompute inside `with torch.enable_grad():`",
                severity="warning",
            )
        if graph is None or "opaque" in graph.tags or not graph.deps or graph.alias:
            continue
        if not all(root.startswith("ctx.") for root in graph.deps):
            yield Problem(
                call.node,
                "nothing is recorded inside of `backward`: there is no graph to differentiate",
                fix="recompute inside `with torch.enable_grad():`",
            )


def _is_rerun(backward: Method, call: Call) -> bool:
    """Whether it differentiates what a callable kept on the context has just returned."""
    graph: ast.expr | None = call.node.args[0] if call.node.args else None
    if call.name == "backward" and not call.dotted.startswith("torch.autograd"):
        graph = call.node.func.value if isinstance(call.node.func, ast.Attribute) else None
    elif call.name not in {"grad", "backward"} or "autograd" not in call.dotted:
        return False
    shown = source_of(backward.flow, graph) if graph is not None else None
    func = shown.func if isinstance(shown, ast.Call) else None
    return isinstance(func, ast.Attribute) and backward.flow.is_ctx(func.value)


def _switches_on(backward: Method) -> bool:
    return not words_in(backward.node).isdisjoint({"enable_grad", "set_grad_enabled", "vjp", "jvp"})


def _graph(call: Call) -> Value | None:
    if call.name == "grad" and "autograd" in call.dotted and call.arguments:
        return call.arguments[0]
    return call.receiver if call.name == "backward" else None
