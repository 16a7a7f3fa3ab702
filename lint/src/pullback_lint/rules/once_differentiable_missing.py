"""Find a backward that leaves autograd without saying so."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model import tables
from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import keyword, known, text
from pullback_lint.model.value import Value
from pullback_lint.model.walk import every
from pullback_lint.problem import Problem

CODE = "PB402"


def check_function(function: Function) -> Iterator[Problem]:
    backward = function.backward
    if backward is None or function.once or backward.is_stub or backward.role == "vjp":
        return
    for decorator, name in zip(backward.node.decorator_list, backward.decorators, strict=True):
        if name in tables.NO_GRAD:
            yield _problem(decorator, f"`@{text(decorator)}` hides backward from autograd")
            return
    for _, elements in function.gradients:
        for element in elements:
            tags = element.value.tags & {"numpy", "detached"}
            if tags and element.value.rooted("g.") and _is_cut(function, element.value):
                yield _problem(element.node, f"this gradient leaves autograd ({_how(tags)})")
                return
    yield from _switched_off(backward)
    yield from _inner(backward)


def _is_cut(function: Function, value: Value) -> bool:
    """Whether the cotangent, or an input that was saved, comes in without a derivative."""
    if not any(root.startswith("g.") for root in value.smooth):
        return True
    names = {f"in.{name}" for name in function.trained}
    lost = (known(function, root) for root in value.deps - value.smooth if root.startswith("saved."))
    return any(kept is not None and len(kept.alias) == 1 and kept.alias <= names for kept in lost)


def _switched_off(backward: Method) -> Iterator[Problem]:
    """Gradients computed inside of `with torch.no_grad()`."""
    for node in every(backward.node, ast.With):
        if not any(_is_no_grad(backward, item.context_expr) for item in node.items):
            continue
        values = (backward.flow.values.get(child) for child in every(node, ast.BinOp))
        if any(value is not None and value.rooted("g.") for value in values):
            yield _problem(node.items[0].context_expr, "`no_grad` hides this part from autograd")
            return


def _is_no_grad(backward: Method, node: ast.expr) -> bool:
    return backward.imports.dotted(node.func if isinstance(node, ast.Call) else node) in tables.NO_GRAD


def _inner(backward: Method) -> Iterator[Problem]:
    for call in backward.flow.calls.values():
        if call.name == "grad" and "autograd" in call.dotted and keyword(call.node, "create_graph") is None:
            yield _problem(call.node, "without `create_graph` the gradients found here are constants")
            return


def _how(tags: frozenset[str]) -> str:
    return "through NumPy" if "numpy" in tags else "by `detach` or `.data`"


def _problem(node: ast.AST, message: str) -> Problem:
    return Problem(
        node, f"{message}: a second derivative is silently wrong", fix="mark backward with `@once_differentiable`"
    )
