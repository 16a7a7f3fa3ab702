"""Find a mask by which forward multiplies and of which backward knows nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, closure, names_in, source_of, text
from pullback_lint.model.walk import walk
from pullback_lint.problem import Problem

CODE = "PB211"


def check_function(function: Function) -> Iterator[Problem]:
    forward, backward = function.forward, function.backward
    if forward is None or backward is None or not function.saves or function.is_surrogate:
        return
    for name in _masks(forward):
        if not _is_applied(forward, name) or _is_kept(function, forward, name) or _compares(backward):
            continue
        for element in function.gradients_of(0):
            if element.value.rooted("g.") and "opaque" not in element.value.tags:
                yield Problem(
                    element.node,
                    f"`forward` multiplies by the mask `{name}`, `backward` does not",
                    fix=f"save `{name}` and multiply the gradient by it",
                    severity="warning",
                )


def _masks(forward: Method) -> list[str]:
    """Names that hold a comparison."""
    return [
        name
        for name, sources in forward.flow.assignments.items()
        if len(sources) == 1 and isinstance(sources[0], ast.Compare) and _on_input(forward, sources[0])
    ]


def _on_input(forward: Method, node: ast.Compare) -> bool:
    return bool(names_in(node) & {parameter.name for parameter in forward.parameters})


def _is_applied(forward: Method, name: str) -> bool:
    for node in walk(forward.node):
        if (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Mult)
            and name in {text(node.left), text(node.right)}
        ):
            return True
    return False


def _is_kept(function: Function, forward: Method, name: str) -> bool:
    """Whether something kept for backward depends on the mask element by element."""
    kept = [argument for save in function.saves for argument in save.arguments]
    kept += [item.expr for items in function.sets.values() for item in items if item.expr is not None]
    return any(_depends(forward, argument, name) for argument in kept)


def _depends(forward: Method, node: ast.expr, name: str) -> bool:
    shown = source_of(forward.flow, node)
    if called(shown) in {"sum", "mean", "any", "all"} and isinstance(shown, ast.Call) and not shown.args:
        return False
    return name in {n.id for n in closure(forward.flow, node) if isinstance(n, ast.Name)}


def _compares(backward: Method) -> bool:
    return any(
        isinstance(node, ast.Compare) or called(node) in {"where", "masked_fill"} for node in walk(backward.node)
    )
