"""Find gradients of bias-like parameters that keep the output's shape."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pullback_lint import edits
from pullback_lint.model.function import Function
from pullback_lint.model.method import Element, Method
from pullback_lint.model.queries import known, mixes
from pullback_lint.model.walk import every
from pullback_lint.problem import Edit, Problem

CODE = "PB225"
NAMES = re.compile(r"^(bias|offset|shift|scale|gain|slope|alpha|beta|gamma|step_size)$")


def check_function(function: Function) -> Iterator[Problem]:
    forward, backward = function.forward, function.backward
    if forward is None or backward is None or function.is_surrogate:
        return
    for index, parameter in enumerate(function.inputs):
        named = NAMES.match(parameter.name) and _is_operand(forward, parameter.name)
        if not named and not _is_widened(forward, parameter.name):
            continue
        for element in function.gradients_of(index):
            if _keeps_shape(backward, element):
                yield Problem(
                    element.node,
                    f"the gradient of `{parameter.name}` keeps the shape of the output",
                    argument=parameter.name,
                    fix=f"`.sum_to_size({parameter.name}.shape)`",
                    edits=_edits(function, backward, element, parameter.name),
                    severity="note",
                )


def _is_operand(forward: Method, name: str) -> bool:
    """Whether an elementwise operation of forward uses the input as it is."""
    sides = (side for node in every(forward.node, ast.BinOp) for side in (node.left, node.right))
    return any(isinstance(side, ast.Name) and side.id == name for side in sides)


def _is_widened(forward: Method, name: str) -> bool:
    """Whether an elementwise operation of forward uses the input with further dimensions: `w[None, :]`."""
    sides = (side for node in every(forward.node, ast.BinOp) for side in (node.left, node.right))
    return any(
        isinstance(side, ast.Subscript)
        and isinstance(side.value, ast.Name)
        and side.value.id == name
        and any(item.value is None for item in every(side.slice, ast.Constant))
        for side in sides
    )


def _keeps_shape(backward: Method, element: Element) -> bool:
    value = element.value
    if not value.rooted("g.") or "opaque" in value.tags or isinstance(element.node, ast.Starred):
        return False
    return not mixes(backward.flow, element.node)


def _edits(function: Function, backward: Method, element: Element, name: str) -> tuple[Edit, ...]:
    """Sum down, where backward has the parameter under a name."""
    holder = next((item for item, value in backward.flow.env.items() if _holds(function, value.alias, name)), None)
    if holder is None:
        return ()
    opening, closing = ("", "") if isinstance(element.node, ast.Name | ast.Call) else ("(", ")")
    return (
        edits.insert_before(function.module, element.node, opening),
        edits.insert_after(function.module, element.node, f"{closing}.sum_to_size({holder}.shape)"),
    )


def _holds(function: Function, roots: frozenset[str], name: str) -> bool:
    kept = [known(function, root) for root in roots]
    return len(kept) == 1 and kept[0] is not None and kept[0].alias == {f"in.{name}"}
