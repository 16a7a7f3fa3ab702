"""Find operators on tensors that have no gradient registered."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.module import Module
from pullback_lint.model.operators import Operator
from pullback_lint.model.queries import names_in, text
from pullback_lint.problem import Problem

CODE = "PB112"


def check_module(module: Module) -> Iterator[Problem]:
    for operator in module.operators:
        if "register_autograd" in operator.registered or operator.mutates or not _is_differentiable(operator.node):
            continue
        if any(word in operator.name.lower() for word in ("backward", "bwd", "grad")) or _used_by_function(
            module, operator
        ):
            continue
        if any(isinstance(node, ast.Attribute) and node.attr == "register_autograd" for node in module.nodes):
            continue
        yield Problem(
            operator.node,
            f"operator `{operator.name}` has no gradient registered",
            fix=f"call `{operator.name}.register_autograd(backward, setup_context=…)`",
            severity="note",
        )


def _is_differentiable(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    takes = any(arg.annotation is not None and "Tensor" in text(arg.annotation) for arg in node.args.args)
    gives = node.returns is not None and "Tensor" in text(node.returns)
    return takes and gives


def _used_by_function(module: Module, operator: Operator) -> bool:
    return any(
        operator.name in names_in(method)
        for function in module.functions
        if not function.is_operator
        for method, _ in function.members.values()
    )
