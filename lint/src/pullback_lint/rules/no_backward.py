"""Find Functions without any rule for the gradient."""

from __future__ import annotations

from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.problem import Problem

CODE = "PB114"


def check_function(function: Function) -> Iterator[Problem]:
    if function.is_operator or function.backward is not None or not function.complete:
        return
    if not function.own(function.forward) or (function.forward is not None and function.forward.is_stub):
        return
    if not {"jvp", "symbolic"} & function.members.keys():
        yield Problem(
            function.node, f"`{function.name}` has no `backward`", fix="write `backward`, or use a plain function"
        )
