"""Find operators that return one of their arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.method import Method
from pullback_lint.model.module import Module
from pullback_lint.problem import Problem

CODE = "PB511"


def check_module(module: Module) -> Iterator[Problem]:
    for operator in module.operators:
        method = Method(operator.node, module.imports, "forward", with_context=False)
        names = {parameter.name for parameter in method.parameters}
        for item in method.flow.returns.values():
            value = item.node.value
            if isinstance(value, ast.Name) and value.id in names and value.id not in method.flow.assignments:
                yield Problem(
                    item.node,
                    f"an operator must not return its argument `{value.id}`",
                    argument=value.id,
                    fix=f"return `{value.id}.clone()`",
                )
