"""Find Functions with setup_context but without a rule for forward mode."""

from __future__ import annotations

from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.problem import Problem

CODE = "PB405"


def check_function(function: Function) -> Iterator[Problem]:
    if (
        not function.has_setup_context
        or function.is_operator
        or not function.complete
        or not function.own(function.backward)
    ):
        return
    if function.method("jvp") is None and function.own(function.backward):
        message = f"`{function.name}` has no `jvp`: forward mode refuses it"
        yield Problem(function.node, message, fix="add a `jvp` static method")
