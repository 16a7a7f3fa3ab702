"""Find a forward without a result."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.walk import every
from pullback_lint.problem import Problem

CODE = "PB135"


def check_function(function: Function) -> Iterator[Problem]:
    forward = function.forward
    if forward is None or not function.own(forward) or forward.is_stub or function.is_operator:
        return
    if not forward.flow.returns and forward.flow.falls_through and not _yields(forward):
        yield Problem(forward.node, "`forward` returns nothing", fix="return the output", severity="warning")


def _yields(method: Method) -> bool:
    return bool(every(method.node, ast.Yield) or every(method.node, ast.YieldFrom))
