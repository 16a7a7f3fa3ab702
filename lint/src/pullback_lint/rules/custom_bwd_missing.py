"""Find one of custom_fwd and custom_bwd without the other."""

from __future__ import annotations

from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.problem import Problem

CODE = "PB504"


def check_function(function: Function) -> Iterator[Problem]:
    forward, backward = function.forward, function.backward
    if forward is None or backward is None or not (function.own(forward) and function.own(backward)):
        return
    fwd = any(name.endswith("custom_fwd") for name in forward.decorators)
    bwd = any(name.endswith("custom_bwd") for name in backward.decorators)
    if fwd != bwd and not backward.is_stub:
        method, missing = (backward, "custom_bwd") if fwd else (forward, "custom_fwd")
        yield Problem(
            method.node, f"`{method.node.name}` lacks `@{missing}`, its partner has the other", fix="use both"
        )
