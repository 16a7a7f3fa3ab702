"""Find inputs for which a list of gradients is returned."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Element
from pullback_lint.problem import Problem

CODE = "PB108"


def check_function(function: Function) -> Iterator[Problem]:
    for index, parameter in enumerate(function.inputs):
        for element in function.gradients_of(index):
            if _is_list(element):
                yield Problem(
                    element.node,
                    f"a list of gradients for `{parameter.name}`: tensors in a list or dict are not tracked",
                    argument=parameter.name,
                    fix=f"pass the tensors one by one (`*{parameter.name}`) and return a gradient for each",
                )


def _is_list(element: Element) -> bool:
    if isinstance(element.node, ast.Starred):
        return False
    tags = element.value.tags
    direct = isinstance(element.node, ast.List | ast.ListComp | ast.Dict | ast.DictComp)
    return bool(element.value.deps) and (direct or ("list" in tags and not tags & {"tensor", "opaque"}))
