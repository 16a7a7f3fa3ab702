"""Find elementwise gradients that use only one number of the cotangent."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, literal, loaded, may_be_scalar, text
from pullback_lint.problem import Problem

CODE = "PB202"


def check_function(function: Function) -> Iterator[Problem]:
    backward, forward = function.backward, function.forward
    if backward is None or forward is None or function.is_surrogate or not backward.parameters:
        return
    results = [item.node.value for item in forward.flow.returns.values() if item.node.value is not None]
    if not results or any(may_be_scalar(forward.flow, result) for result in results):
        return
    name = backward.parameters[0].name
    uses = [use for use in loaded(backward.node, name) if not _only_shape(function, backward, use)]
    picked = [_picked(function, use) for use in uses]
    for use, expression in zip(uses, picked, strict=True):
        if all(picked) and expression is not None and _is_factor(function, backward, expression):
            yield Problem(
                expression,
                f"`{text(expression)}` is one number for all elements of the output",
                fix=f"multiply by `{use.id}` element by element",
            )


def _only_shape(function: Function, backward: Method, use: ast.Name) -> bool:
    parent = function.module.parents.get(use)
    return isinstance(parent, ast.Attribute) and parent.attr in {"shape", "dtype", "device", "size", "numel"}


def _picked(function: Function, use: ast.Name) -> ast.expr | None:
    """The expression that makes one number of this use of the cotangent."""
    parents = function.module.parents
    node: ast.AST = use
    for _ in range(6):
        parent = parents.get(node)
        if isinstance(parent, ast.Subscript) and parent.value is node:
            return parent if literal(parent.slice) == 0 and literal(parent.slice) is not False else None
        if isinstance(parent, ast.Call) and parent.args == [node] and not parent.keywords:
            torch = function.module.imports.dotted(parent.func)
            return parent if torch in {"torch.mean", "torch.max", *_sums(function, "torch.sum")} else None
        if isinstance(parent, ast.Attribute):
            call = parents.get(parent)
            if not isinstance(call, ast.Call) or call.func is not parent:
                return None
            if parent.attr in {"mean", "item", "max", *_sums(function, "sum")} and not call.args and not call.keywords:
                return call
            if parent.attr not in {"reshape", "view", "flatten", "contiguous"}:
                return None
            node = call
            continue
        return None
    return None


def _sums(function: Function, name: str) -> set[str]:
    """A sum is one number for all, too; of several inputs, one may be a number itself, whose gradient is a sum."""
    return {name} if len(function.inputs) == 1 else set()


def _as_number(function: Function, node: ast.expr) -> ast.expr:
    """What an expression becomes through `float(…)` and `.item()`."""
    parents = function.module.parents
    while True:
        outer = parents.get(node)
        if isinstance(outer, ast.Attribute) and outer.attr == "item":
            outer = parents.get(outer)
        if not isinstance(outer, ast.Call) or called(outer) not in {"float", "item"}:
            return node
        node = outer


def _is_factor(function: Function, backward: Method, expression: ast.expr) -> bool:
    """Whether it, or the name it is assigned to, multiplies something that is not a number."""
    expression = _as_number(function, expression)
    parent = function.module.parents.get(expression)
    places: list[ast.AST] = [expression]
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        places = list(loaded(backward.node, parent.targets[0].id))
    for place in places:
        product = function.module.parents.get(place)
        while isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult):
            other = product.right if product.left is place else product.left
            value = backward.flow.values.get(other)
            if value is not None and any(root.startswith("saved.") for root in value.deps):
                return True
            place, product = product, function.module.parents.get(product)
    return False
