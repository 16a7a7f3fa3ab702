"""Find operators that change an argument which their schema calls unchanged."""

from __future__ import annotations

from collections.abc import Iterator

from pullback_lint.model.method import Method
from pullback_lint.model.module import Module
from pullback_lint.problem import Problem

CODE = "PB509"


def check_module(module: Module) -> Iterator[Problem]:
    for operator in module.operators:
        if operator.mutates is None or "unknown" in operator.mutates:
            continue
        method = Method(operator.node, module.imports, "forward", with_context=False)
        for mutation in method.flow.mutations.values():
            names = {root.removeprefix("in.") for root in mutation.value.aliases("in.")}
            for name in sorted(names - operator.mutates):
                yield Problem(
                    mutation.node,
                    f"`{name}` is changed in place, but `mutates_args` does not name it",
                    argument=name,
                    fix="work out of place, or name it in `mutates_args`",
                )
