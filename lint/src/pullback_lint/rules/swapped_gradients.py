"""Find gradients returned in each other's places."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Element
from pullback_lint.model.queries import origins, product_of, text
from pullback_lint.problem import Problem

CODE = "PB203"


def check_function(function: Function) -> Iterator[Problem]:
    for _result, elements in function.gradients:
        if len(elements) > len(function.inputs):
            continue
        yield from _by_name(function, elements)
        yield from _by_operand(function, elements)


def _by_name(function: Function, elements: tuple[Element, ...]) -> Iterator[Problem]:
    """Names that say whose gradient they are, in other places."""
    inputs = [parameter.name for parameter in function.inputs]
    said = [_whose(element.node, inputs) for element in elements]
    for index, whose in enumerate(said):
        if whose is not None and whose != index and whose < len(said) and said[whose] == index and index < whose:
            yield Problem(
                elements[index].node,
                f"`{text(elements[index].node)}` is returned for `{inputs[index]}`, "
                f"and `{text(elements[whose].node)}` for `{inputs[whose]}`",
                argument=inputs[index],
                fix="return the gradients in the order of forward's inputs",
            )


_PREFIX = re.compile(r"^(grad_input_|grad_|d_|dl_d|dldx_|dl_|g_|grad|d|g)(?=.)|(_grad|_bar|_g)$", re.IGNORECASE)


def _whose(node: ast.expr, inputs: list[str]) -> int | None:
    if not isinstance(node, ast.Name) or node.id in inputs:
        return None
    rest = _PREFIX.sub("", node.id, count=1)
    return inputs.index(rest) if rest != node.id and rest in inputs else None


def _by_operand(function: Function, elements: tuple[Element, ...]) -> Iterator[Problem]:
    """Of a product, each gradient computed with its own operand instead of the other one."""
    forward = function.forward
    if forward is None or function.is_surrogate:
        return
    behind = [_inputs_behind(function, element) for element in elements]
    for one in range(len(elements)):
        for two in range(one + 1, len(elements)):
            first, second = function.inputs[one].name, function.inputs[two].name
            if behind[one] is None or behind[two] is None or not product_of(forward, first, second, matrix=False):
                continue
            if _only(behind[one], first, second) and _only(behind[two], second, first):
                yield Problem(
                    elements[one].node,
                    f"the gradient of `{first}` is computed with `{first}` and that of `{second}` with `{second}`",
                    argument=first,
                    fix="the gradient of each factor needs the other factor",
                )


def _inputs_behind(function: Function, element: Element) -> frozenset[str] | None:
    return None if "opaque" in element.value.tags else origins(function, element.value.deps)


def _only(found: frozenset[str] | None, wanted: str, unwanted: str) -> bool:
    return found is not None and f"in.{wanted}" in found and f"in.{unwanted}" not in found
