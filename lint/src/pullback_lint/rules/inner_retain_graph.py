"""Find retained graphs inside of backward."""

from __future__ import annotations

from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.queries import keyword, literal
from pullback_lint.problem import Problem

CODE = "PB317"


def check_function(function: Function) -> Iterator[Problem]:
    if function.backward is None:
        return
    for call in function.backward.flow.calls.values():
        if call.name in {"grad", "backward"} and literal(keyword(call.node, "retain_graph")) is True:
            yield Problem(
                call.node,
                "the inner graph is retained",
                fix="ask for all gradients in one call of `torch.autograd.grad`",
            )
