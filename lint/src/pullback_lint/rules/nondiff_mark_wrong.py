"""Find outputs that are marked as non-differentiable and depend smoothly on an input."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.queries import text
from pullback_lint.model.value import Value
from pullback_lint.problem import Problem

CODE = "PB110"
_UNSURE = {"opaque", "index", "random", "detached", "numpy"}


def check_function(function: Function) -> Iterator[Problem]:
    for call in function.mark_calls.get("mark_non_differentiable", []):
        for argument in call.args:
            value = _value(function, argument)
            smooth = {name for name in value.smooth if name.startswith("in.")}
            if (
                smooth
                and not value.aliases("in.")
                and not value.tags & {"opaque", "index", "random", "detached", "numpy"}
            ):
                name = text(argument)
                yield Problem(
                    argument,
                    f"`{name}` depends on {_inputs(smooth)} smoothly, but is marked as non-differentiable",
                    fix=f"leave `{name}` differentiable and add its cotangent in backward",
                    severity="warning",
                )


def _value(function: Function, argument: ast.expr) -> Value:
    for flow in function.fillers:
        if argument in flow.values and not isinstance(argument, ast.Starred):
            return flow.values.get(argument, Value())
    return Value()


def _inputs(roots: set[str]) -> str:
    return ", ".join(f"`{root.removeprefix('in.')}`" for root in sorted(roots))
