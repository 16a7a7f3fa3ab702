"""Find marks on expressions that forward cannot return, because they are made for the mark."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.queries import text
from pullback_lint.problem import Problem

CODE = "PB111"


def check_function(function: Function) -> Iterator[Problem]:
    for call in function.mark_calls.get("mark_non_differentiable", []):
        for argument in call.args:
            if isinstance(argument, ast.Call | ast.BinOp | ast.Compare | ast.UnaryOp):
                yield Problem(
                    argument,
                    f"`{text(argument)}` is a new object, which `forward` does not return: the mark has no effect",
                    fix="mark the object that is returned",
                )
