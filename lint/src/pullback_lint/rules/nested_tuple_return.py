"""Find tuples among the gradients that backward returns."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Element
from pullback_lint.model.queries import text
from pullback_lint.problem import Problem

CODE = "PB104"


def check_function(function: Function) -> Iterator[Problem]:
    for _, elements in function.gradients:
        if len(elements) == 1 and not isinstance(elements[0].node, ast.Tuple):
            continue
        for element in elements:
            if _is_tuple(element):
                yield Problem(
                    element.node,
                    f"`{text(element.node)}` is a tuple, not a gradient",
                    fix="unpack it, or take its element `[0]`",
                )


def _is_tuple(element: Element) -> bool:
    if isinstance(element.node, ast.Starred):
        return False
    tags = element.value.tags
    held = isinstance(element.node, ast.Name) and tags == {"tuple"} and bool(element.value.items)
    return "autograd-tuple" in tags or held or (isinstance(element.node, ast.Tuple) and bool(element.node.elts))
