"""Find changes in place of saved tensors in backward."""

from __future__ import annotations

from collections.abc import Iterator

from pullback_lint.model.events import Mutation
from pullback_lint.model.function import Function
from pullback_lint.model.queries import known, text
from pullback_lint.problem import Problem

CODE = "PB302"


def check_function(function: Function) -> Iterator[Problem]:
    backward = function.backward
    if backward is None:
        return
    for mutation in backward.flow.mutations.values():
        roots = mutation.value.aliases("saved.") or _tensors_on_ctx(function, mutation)
        if roots and not mutation.value.tags & {"list", "tuple", "tensors", "plain"}:
            yield Problem(
                mutation.node,
                f"`{text(mutation.target)}` was saved by forward and is changed in place",
                fix="write to a new tensor",
            )


def _tensors_on_ctx(function: Function, mutation: Mutation) -> frozenset[str]:
    """Attributes of the context that certainly hold tensors of forward."""
    roots = mutation.value.aliases("ctx.")
    kept = [known(function, root) for root in roots]
    return roots if kept and all(value is not None and "tensor" in value.tags for value in kept) else frozenset()
