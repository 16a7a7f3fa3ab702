"""Find operators that compile and export cannot trace."""

from __future__ import annotations

from collections.abc import Iterator

from pullback_lint.model.module import Module
from pullback_lint.problem import Problem

CODE = "PB510"


def check_module(module: Module) -> Iterator[Problem]:
    for operator in module.operators:
        if not {"register_fake", "register_meta"} & operator.registered.keys() and "register_fake" not in module.source:
            yield Problem(
                operator.node,
                f"operator `{operator.name}` has no fake implementation",
                fix=f"register one with `@{operator.name}.register_fake`",
            )
