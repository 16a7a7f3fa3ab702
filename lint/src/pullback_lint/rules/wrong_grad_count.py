"""Compare every return of backward with the inputs of forward."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint import edits
from pullback_lint.model.function import Function
from pullback_lint.model.method import Element, Method, Result
from pullback_lint.model.walk import every
from pullback_lint.problem import Edit, Problem

CODE = "PB101"


def check_function(function: Function) -> Iterator[Problem]:
    backward, forward = function.backward, function.forward
    if backward is None or forward is None or backward.is_stub or backward.role == "vjp":
        return
    least, most = _bounds(function)
    for result, elements in function.gradients:
        count = len(elements)
        between = least < count < len(function.inputs)  # right for callers that pass as many, and for no others
        if count < least or between or (count > most and any(not element.is_none for element in elements[int(most) :])):
            yield Problem(
                result.node,
                f"`backward` returns {_gradients(count)}, but `forward` takes {_inputs(function)}",
                fix=_advice(count, least),
                severity="warning" if between else None,
                edits=_padded(function, result, elements, least - count),
            )
    if not backward.flow.returns and backward.flow.falls_through and not _is_generator(backward):
        yield Problem(backward.node, "`backward` returns nothing", fix="end with a return of one gradient per input")


def _padded(function: Function, result: Result, elements: tuple[Element, ...], missing: int) -> tuple[Edit, ...]:
    """The return with the missing `None`; a name is one gradient if it is known to be no tuple."""
    node = result.node.value
    if missing > 0 and isinstance(node, ast.Name) and len(elements) == 1 and elements[0].node is node:
        return (edits.insert_after(function.module, node, ", None" * missing),)
    return edits.pad_return(function.module, result.node, missing)


def _bounds(function: Function) -> tuple[int, float]:
    """The least and the greatest number of gradients that are right."""
    forward = function.forward
    if forward is None or forward.vararg:
        return sum(parameter.default is None for parameter in function.inputs), float("inf")
    return sum(parameter.default is None for parameter in function.inputs), len(function.inputs)


def _gradients(count: int) -> str:
    return "1 gradient" if count == 1 else f"{count} gradients"


def _inputs(function: Function) -> str:
    names = ", ".join(f"`{parameter.name}`" for parameter in function.inputs)
    return f"{len(function.inputs)} input{'s' * (len(function.inputs) != 1)}: {names}"


def _advice(count: int, least: int) -> str:
    if count < least:
        return f"return {least - count} more, `None` for inputs that take no gradient"
    return "return one gradient per input, in order, `None` for those that take none"


def _is_generator(method: Method) -> bool:
    return bool(every(method.node, ast.Yield) or every(method.node, ast.YieldFrom))
