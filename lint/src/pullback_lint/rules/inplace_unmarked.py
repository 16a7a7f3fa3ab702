"""Find inputs that forward changes in place without mark_dirty."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.problem import Problem

CODE = "PB303"


def check_function(function: Function) -> Iterator[Problem]:
    forward = function.forward
    if forward is None or function.is_operator or not function.gradients:
        return
    marked = _marked(function)
    for mutation in forward.flow.mutations.values():
        names = {root.removeprefix("in.") for root in mutation.value.aliases("in.")}
        if marked is None or names & marked or mutation.value.tags & {"list", "tuple", "dict"}:
            continue
        for name in sorted(names & function.trained):
            yield Problem(
                mutation.node,
                f"input `{name}` is changed in place without `mark_dirty`",
                argument=name,
                fix=f"call `mark_dirty({name})` and return `{name}`, or work on a copy",
                severity="warning" if "detached" in mutation.value.tags else None,
            )


def _marked(function: Function) -> set[str] | None:
    """The names given to mark_dirty; None if they cannot be told."""
    found: set[str] = set()
    for call in function.mark_calls.get("mark_dirty", []):
        if any(isinstance(argument, ast.Starred) for argument in call.args):
            return None
        for argument in call.args:
            for flow in function.fillers:
                value = flow.values.get(argument)
                found |= {root.removeprefix("in.") for root in value.alias} if value is not None else set()
    return found
