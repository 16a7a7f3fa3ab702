"""Find changes in place of the cotangent or a view of it."""

from __future__ import annotations

from collections.abc import Iterator

from pullback_lint.model.events import Mutation
from pullback_lint.model.function import Function
from pullback_lint.model.queries import text
from pullback_lint.problem import Problem

CODE = "PB301"


def check_function(function: Function) -> Iterator[Problem]:
    backward = function.backward
    if backward is None:
        return
    for mutation in backward.flow.mutations.values():
        names = mutation.value.aliases("g.")
        if names and "list" not in mutation.value.tags and not _of_container(mutation):
            name = min(names).removeprefix("g.")
            yield Problem(
                mutation.node,
                f"`{text(mutation.target)}` is `{name}` or shares its memory, and is changed in place",
                argument=name,
                fix="compute into a new tensor, or clone first",
            )


def _of_container(mutation: Mutation) -> bool:
    """Whether an element of a tuple or list of cotangents is replaced, not a tensor changed."""
    return "tuple" in mutation.value.tags
