"""Find custom_fwd on a forward without context."""

from __future__ import annotations

from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.problem import Problem

CODE = "PB503"


def check_function(function: Function) -> Iterator[Problem]:
    forward = function.forward
    if forward is None or not function.has_setup_context or not function.own(forward):
        return
    for decorator, name in zip(forward.node.decorator_list, forward.decorators, strict=True):
        if name.rpartition(".")[2] == "custom_fwd":
            yield Problem(
                decorator,
                "`custom_fwd` writes on its first argument, which with `setup_context` is the user's tensor",
                fix="switch autocast off inside `forward`, or use the form with a context",
            )
