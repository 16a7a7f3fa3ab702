"""Find Functions with two batching rules."""

from __future__ import annotations

from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.queries import literal
from pullback_lint.problem import Problem

CODE = "PB408"


def check_function(function: Function) -> Iterator[Problem]:
    method = function.method("vmap")
    if method is not None and function.own(method) and literal(function.attributes.get("generate_vmap_rule")) is True:
        yield Problem(method.node, "`generate_vmap_rule` and `vmap` exclude each other", fix="keep one")
