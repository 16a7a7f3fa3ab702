"""Find a second save_for_backward on one path, which replaces the first."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from pullback_lint.model.events import Guards
from pullback_lint.model.function import Function
from pullback_lint.model.queries import text
from pullback_lint.problem import Problem

CODE = "PB128"


def check_function(function: Function) -> Iterator[Problem]:
    for flow in function.fillers:
        saves = [save for save in function.saves if save.node in flow.saves]
        for first, second in itertools.pairwise(saves):
            if _on_one_path(first.guards, second.guards):
                yield Problem(
                    second.node,
                    f"this replaces what line {first.node.lineno} saved",
                    fix="save everything in one call",
                )


def _on_one_path(first: Guards, second: Guards) -> bool:
    """Whether one place's conditions are among the other's."""
    one = {(text(test), outcome) for test, outcome in first}
    two = {(text(test), outcome) for test, outcome in second}
    return one <= two or two <= one
