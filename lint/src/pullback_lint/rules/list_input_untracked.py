"""Find inputs for which a list of gradients is returned."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Element, Method
from pullback_lint.problem import Problem

CODE = "PB108"


def check_function(function: Function) -> Iterator[Problem]:
    yield from _joined(function)
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


_JOINING = {"stack", "cat", "concat", "concatenate", "vstack", "hstack", "dstack"}
_CONTAINER = re.compile(r"(^|\W)(list|tuple|sequence|iterable|dict|mapping)\[.*tensor", re.IGNORECASE)


def _joined(function: Function) -> Iterator[Problem]:
    """Inputs that are lists or dicts of tensors, by their annotation or because forward joins them."""
    forward = function.forward
    if forward is None or function.is_operator or function.backward is None:
        return
    for index, parameter in enumerate(function.inputs):
        bare = parameter.annotation in {"list", "dict"} and f"in.{parameter.name}" in function.outputs.smooth
        held = bare or _CONTAINER.search(parameter.annotation)
        use = parameter.node if held else _join(forward, parameter.name)
        if use is not None and not any(map(_is_list, function.gradients_of(index))):
            yield Problem(
                use,
                f"`{parameter.name}` holds tensors in a list or dict: autograd does not track them",
                argument=parameter.name,
                fix=f"pass the tensors one by one (`*{parameter.name}`) and return a gradient for each",
                severity="warning" if _flows(function, parameter.name) else "note",
            )


def _flows(function: Function, name: str) -> bool:
    """Whether the output is certainly a differentiable function of an input."""
    return f"in.{name}" in function.outputs.smooth and "opaque" not in function.outputs.tags


def _join(forward: Method, name: str) -> ast.expr | None:
    """Where forward joins the tensors of an input, which is an input as it is."""
    if name in forward.flow.assignments:
        return None
    for call in forward.flow.calls.values():
        first = call.node.args[0] if call.node.args else None
        if (
            call.dotted.startswith("torch.")
            and call.name in _JOINING
            and isinstance(first, ast.Name)
            and first.id == name
        ):
            return first
    return None
