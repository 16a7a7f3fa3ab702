"""Find rules of in-place pullback Functions that name the overwritten argument."""

from __future__ import annotations

from collections.abc import Iterator

from pullback_lint.model.module import Module
from pullback_lint.model.pullback import pullback_functions
from pullback_lint.problem import Problem

CODE = "PB133"


def check_module(module: Module) -> Iterator[Problem]:
    for made in pullback_functions(module):
        for rule in made.rules:
            for arg in rule.node.args.args[1:]:
                if made.inplace == arg.arg:
                    yield Problem(
                        arg,
                        f"`{arg.arg}` is overwritten by `{made.node.name}`: it holds the output when the rule runs",
                        argument=arg.arg,
                        fix="use `out`, or keep what is needed with `pullback.keep`",
                    )
