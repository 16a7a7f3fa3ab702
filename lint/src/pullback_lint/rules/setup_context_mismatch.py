"""Find a forward with a context beside setup_context."""

from __future__ import annotations

from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.problem import Problem

CODE = "PB117"


def check_function(function: Function) -> Iterator[Problem]:
    forward = function.forward
    if forward is None or not function.has_setup_context or function.is_operator or not forward.names:
        return
    first = forward.names[0].arg
    if first in {"ctx", "context", "_ctx"} and function.own(forward):
        yield Problem(
            forward.node,
            f"with `setup_context`, `forward` gets no context: `{first}` would be the first input",
            fix=f"take `{first}` out of `forward`",
        )
