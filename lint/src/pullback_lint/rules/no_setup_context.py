"""Find Functions in the classic form, which torch.func refuses."""

from __future__ import annotations

from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.problem import Problem

CODE = "PB404"


def check_function(function: Function) -> Iterator[Problem]:
    if function.is_operator or function.has_setup_context or function.backward is None or not function.complete:
        return
    if function.own(function.forward) and function.forward is not None and not function.forward.is_stub:
        yield Problem(
            function.forward.node,
            f"`{function.name}` has no `setup_context`: `torch.func.grad`, `vmap` and the like refuse it",
            fix="split `forward` into `forward` and `setup_context`",
        )
