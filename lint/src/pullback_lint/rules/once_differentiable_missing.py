"""Find a backward that leaves autograd without saying so."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model import tables
from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import keyword, text
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
            if tags and element.value.rooted("g.") and not any(root.startswith("g.") for root in element.value.smooth):
                yield _problem(element.node, f"this gradient leaves autograd ({_how(tags)})")
                return
    yield from _inner(backward)


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
