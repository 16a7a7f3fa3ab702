"""Find modules and callables among the inputs whose parameters get no gradient."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, calls_of
from pullback_lint.model.walk import every
from pullback_lint.problem import Problem

CODE = "PB320"


def check_function(function: Function) -> Iterator[Problem]:
    forward, backward = function.forward, function.backward
    if forward is None or backward is None or _differentiates(backward):
        return
    for index, parameter in enumerate(function.inputs):
        elements = function.gradients_of(index)
        if not elements or not all(element.is_none for element in elements):
            continue
        for node in every(forward.node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id == parameter.name:
                yield Problem(
                    node,
                    f"`{parameter.name}` is called: its parameters get no gradient from this Function",
                    argument=parameter.name,
                    fix="pass the parameters as inputs and return their gradients",
                )
                break


def _differentiates(backward: Method) -> bool:
    """Whether backward may reach the parameters: all but `autograd.grad` with respect to plain names."""
    calls = calls_of(backward.node, {"grad", "backward", "vjp"})
    named = [node for node in calls if called(node) == "grad" and _is_named(node)]
    return len(named) < len(calls) or any(
        node.attr in {"parameters", "params"} for node in every(backward.node, ast.Attribute)
    )


def _is_named(node: ast.Call) -> bool:
    """Whether what is differentiated with respect to is one name."""
    return len(node.args) > 1 and isinstance(node.args[1], ast.Name)
