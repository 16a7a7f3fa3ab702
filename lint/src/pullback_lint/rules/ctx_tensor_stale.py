"""Find inputs kept as attributes of the context."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.events import AttributeSet
from pullback_lint.model.function import Function
from pullback_lint.model.method import Parameter
from pullback_lint.problem import Problem
from pullback_lint.saving import save_instead

CODE = "PB306"


def check_function(function: Function) -> Iterator[Problem]:
    kept = list(_kept(function))
    repair = save_instead(function, [item for item, parameter in kept if parameter.name in function.trained])
    for index, (item, parameter) in enumerate(kept):
        yield Problem(
            item.node,
            f"input `{parameter.name}` is kept as an attribute: a later change in place goes unnoticed",
            argument=parameter.name,
            fix="use `save_for_backward`",
            edits=repair if not index else (),
            severity="warning" if parameter.name in function.trained else "note",
        )


def _kept(function: Function) -> Iterator[tuple[AttributeSet, Parameter]]:
    """The assignments of tensor inputs to attributes that something reads."""
    for name, items in function.sets.items():
        for item in items if _is_read(function, name) else ():
            if _is_part(function, item.expr):
                continue
            kept = [value.aliases("in.") for value in item.value.items or (item.value,)]
            for index, parameter in enumerate(function.inputs):
                if {f"in.{parameter.name}"} in kept and _is_tensor(function, index):
                    yield item, parameter


def _is_part(function: Function, node: ast.expr | None) -> bool:
    """Whether it is a name for a part of something that forward took apart."""
    return isinstance(node, ast.Name) and any(None in flow.assignments.get(node.id, []) for flow in function.fillers)


def _is_read(function: Function, name: str) -> bool:
    return any(read.name == name for flow in function.readers for read in flow.reads.values())


def _is_tensor(function: Function, index: int) -> bool:
    parameter = function.inputs[index]
    if parameter.annotation and "Tensor" not in parameter.annotation:
        return False
    if function.is_plain(index):
        return False
    if any(
        element.value.rooted("g.") and "opaque" not in element.value.tags for element in function.gradients_of(index)
    ):
        return True
    return "Tensor" in parameter.annotation
