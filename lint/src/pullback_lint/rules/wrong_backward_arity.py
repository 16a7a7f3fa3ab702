"""Compare the cotangents that backward takes with the outputs of forward."""

from __future__ import annotations

from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.problem import Problem

CODE = "PB116"


def check_function(function: Function) -> Iterator[Problem]:
    backward, outputs = function.backward, function.output_items
    if backward is None or outputs is None or backward.vararg or backward.role == "vjp" or backward.is_stub:
        return
    required = sum(parameter.default is None for parameter in backward.parameters)
    if not required <= len(outputs) <= len(backward.parameters):
        taken = len(backward.parameters)
        yield Problem(
            backward.node,
            f"`backward` takes {taken} cotangent{'s' * (taken != 1)}, but `forward` returns "
            f"{len(outputs)} output{'s' * (len(outputs) != 1)}",
            fix="take one cotangent per output",
        )
