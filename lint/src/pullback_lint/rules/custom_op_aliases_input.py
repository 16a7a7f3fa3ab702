"""Find operators that return one of their arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.method import Method
from pullback_lint.model.module import Module
from pullback_lint.model.queries import source_of
from pullback_lint.problem import Problem

CODE = "PB511"


def check_module(module: Module) -> Iterator[Problem]:
    for operator in module.operators:
        method = Method(operator.node, module.imports, "forward", with_context=False)
        names = {parameter.name for parameter in method.parameters}
        for item in method.flow.returns.values():
            value = _viewed(method, item.node.value)
            if isinstance(value, ast.Name) and value.id in names and value.id not in method.flow.assignments:
                yield Problem(
                    item.node,
                    f"an operator must not return its argument `{value.id}` or a view of it",
                    argument=value.id,
                    fix=f"return `{value.id}.clone()`",
                )


_VIEWS = {"view", "view_as", "t", "transpose", "permute", "unsqueeze", "squeeze", "expand", "expand_as", "detach",
          "narrow", "movedim", "swapaxes"}  # fmt: skip


def _viewed(method: Method, node: ast.expr | None) -> ast.expr | None:
    """What an expression is certainly a view of, or the expression itself."""
    shown = source_of(method.flow, node) if node is not None else None
    while isinstance(shown, ast.Call) and isinstance(shown.func, ast.Attribute) and shown.func.attr in _VIEWS:
        of_torch = method.imports.dotted(shown.func).startswith("torch.") and shown.args
        shown = source_of(method.flow, shown.args[0] if of_torch else shown.func.value)
    return shown
