"""Find Functions with setup_context but without a batching rule."""

from __future__ import annotations

from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.queries import literal
from pullback_lint.problem import Problem

CODE = "PB406"


def check_function(function: Function) -> Iterator[Problem]:
    if (
        not function.has_setup_context
        or function.is_operator
        or not function.complete
        or not function.own(function.backward)
    ):
        return
    if function.method("vmap") is None and literal(function.attributes.get("generate_vmap_rule")) is not True:
        yield Problem(
            function.node,
            f"`{function.name}` has no batching rule: `torch.vmap` refuses it",
            fix="set `generate_vmap_rule = True`, or write `vmap`",
        )
