"""Find a mask by which forward multiplies and of which backward knows nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, calls_of, closure, names_in, source_of, text
from pullback_lint.model.value import Value
from pullback_lint.model.walk import every
from pullback_lint.problem import Problem

CODE = "PB211"


def check_function(function: Function) -> Iterator[Problem]:
    forward, backward = function.forward, function.backward
    if forward is None or backward is None or not function.saves or function.is_surrogate:
        return
    for name in _masks(forward):
        if not _is_applied(forward, name) or _compares(backward):
            continue
        for element in function.gradients_of(0):
            if not element.value.rooted("g.") or "opaque" in element.value.tags:
                continue
            if not _is_used(function, forward, name, element.value):
                yield Problem(
                    element.node,
                    f"`forward` applies the mask `{name}`, `backward` does not",
                    fix=f"save `{name}` and multiply the gradient by it",
                    severity="warning",
                )


_GIVEN = {"mask", "keep", "valid", "valid_mask", "padding_mask"}


def _masks(forward: Method) -> list[str]:
    """Names that hold a comparison."""
    given = [item.name for item in forward.parameters if item.name in _GIVEN]
    return given + [
        name
        for name, sources in forward.flow.assignments.items()
        if len(sources) == 1 and isinstance(sources[0], ast.Compare) and _on_input(forward, sources[0])
    ]


def _on_input(forward: Method, node: ast.Compare) -> bool:
    return bool(names_in(node) & {parameter.name for parameter in forward.parameters})


def _is_applied(forward: Method, name: str) -> bool:
    products = (node for node in every(forward.node, ast.BinOp) if isinstance(node.op, ast.Mult))
    conditions = (node.args[0] for node in calls_of(forward.node, {"where", "masked_fill"}) if node.args)
    return any(name in {text(node.left), text(node.right)} for node in products) or any(
        isinstance(node, ast.Name) and node.id == name for node in conditions
    )


def _is_used(function: Function, forward: Method, name: str, gradient: Value) -> bool:
    """Whether a gradient uses something kept for backward that depends on the mask element by element."""
    return any(_depends(forward, argument, name) for root in gradient.deps for argument in _kept(function, root))


def _kept(function: Function, root: str) -> list[ast.expr]:
    """What forward keeps under a root of backward; all that it saves where the index is unknown."""
    kind, _, name = root.partition(".")
    if kind == "ctx":
        return [item.expr for item in function.sets.get(name, []) if item.expr is not None]
    if kind != "saved":
        return []
    saved = [save.arguments for save in function.saves]
    if name.isdigit() and not any(isinstance(item, ast.Starred) for arguments in saved for item in arguments):
        return [arguments[int(name)] for arguments in saved if int(name) < len(arguments)]
    return [argument for arguments in saved for argument in arguments]


def _depends(forward: Method, node: ast.expr, name: str) -> bool:
    shown = source_of(forward.flow, node)
    if called(shown) in {"sum", "mean", "any", "all"} and isinstance(shown, ast.Call) and not shown.args:
        return False
    return name in {n.id for n in closure(forward.flow, node) if isinstance(n, ast.Name)}


def _compares(backward: Method) -> bool:
    return bool(every(backward.node, ast.Compare) or calls_of(backward.node, {"where", "masked_fill"}))
