"""Find changes in place of a tensor that was saved before."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.events import Mutation, Save
from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import text
from pullback_lint.model.walk import every
from pullback_lint.problem import Problem

CODE = "PB319"


def check_function(function: Function) -> Iterator[Problem]:
    forward = function.forward
    if forward is None or function.is_operator:
        return
    for save in forward.flow.saves.values():
        names = {argument.id for argument in save.arguments if isinstance(argument, ast.Name)}
        for mutation in forward.flow.mutations.values():
            name = text(mutation.target)
            if name in names and _is_after(save, mutation) and not _rebound(forward, name, save, mutation):
                yield Problem(
                    mutation.node,
                    f"`{name}` was saved in line {save.node.lineno} and is changed in place here",
                    fix="save it after the change, or change a copy",
                    severity="warning",
                )


def _is_after(save: Save, mutation: Mutation) -> bool:
    later = getattr(mutation.node, "lineno", 0) > (save.node.end_lineno or 0)
    return later and set(save.guards) <= set(mutation.guards)


def _rebound(forward: Method, name: str, save: Save, mutation: Mutation) -> bool:
    """Whether the name stands for another object by then."""
    return any(
        node.id == name
        and isinstance(node.ctx, ast.Store)
        and save.node.lineno < node.lineno <= getattr(mutation.node, "lineno", 0)
        and node is not getattr(mutation.node, "target", None)
        for node in every(forward.node, ast.Name)
    )
