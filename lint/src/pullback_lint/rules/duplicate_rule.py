"""Find two pullback rules for one argument."""

from __future__ import annotations

from collections.abc import Iterator

from pullback_lint.model.module import Module
from pullback_lint.model.pullback import pullback_functions
from pullback_lint.problem import Problem

CODE = "PB132"


def check_module(module: Module) -> Iterator[Problem]:
    for made in pullback_functions(module):
        seen: dict[str, int] = {}
        for rule in made.rules:
            for name, node in rule.arguments:
                if name in seen:
                    yield Problem(
                        node,
                        f"`{name}` of `{made.node.name}` has a rule already, in line {seen[name]}",
                        argument=name,
                        fix="keep one",
                    )
                seen.setdefault(name, rule.node.lineno)
