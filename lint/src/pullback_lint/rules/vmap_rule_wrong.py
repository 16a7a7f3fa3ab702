"""Find batching rules that never look at in_dims."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.queries import called, loaded
from pullback_lint.problem import Problem

CODE = "PB407"


def check_function(function: Function) -> Iterator[Problem]:
    method = function.method("vmap")
    if method is None or not function.own(method) or len(method.parameters) < 2 or method.is_stub:
        return
    for item in method.flow.returns.values():
        if isinstance(item.node.value, ast.Call) and called(item.node.value) == "apply":
            yield Problem(
                item.node,
                "`vmap` returns the output alone, without saying where its batch dimension is",
                fix="return a pair: the output, and `0` (or None) for each output's batch dimension",
            )
    name = method.parameters[1].name
    if not loaded(method.node, name) and len(method.parameters) + bool(method.vararg) > 2:
        yield Problem(
            method.node,
            f"`vmap` never reads `{name}`: it takes for granted where the batch dimension is",
            fix=f"move each batched argument's dimension as `{name}` says",
        )
