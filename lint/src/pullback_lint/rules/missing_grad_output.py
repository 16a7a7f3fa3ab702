"""Find gradients that no path of the data connects with the cotangent."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Element
from pullback_lint.model.queries import known, source_of
from pullback_lint.model.value import UNKNOWN, Value
from pullback_lint.model.walk import every
from pullback_lint.problem import Problem

CODE = "PB201"


def check_function(function: Function) -> Iterator[Problem]:
    backward = function.backward
    if backward is None or function.is_surrogate or backward.role == "vjp":
        return
    name = backward.parameters[0].name if backward.parameters else backward.vararg or "grad_output"
    for _, elements in function.gradients:
        for index, element in enumerate(elements):
            if _lacks_cotangent(function, element):
                argument = function.inputs[index].name if index < len(function.inputs) else None
                yield Problem(
                    element.node,
                    f"this gradient does not contain `{name}`",
                    argument=argument,
                    fix=f"multiply by `{name}`",
                )


_UNSURE = {"none", "opaque", "global", "random", "numpy", "autograd-tuple", "list"}


def _lacks_cotangent(function: Function, element: Element) -> bool:
    value = element.value
    if value.rooted("g.") or isinstance(element.node, ast.Starred):
        return False
    if value.tags & _UNSURE:
        return value.tags & _UNSURE == {"opaque"} and _is_of_helper(function, element.node)
    if "constant" in value.tags and "zero" not in value.tags:
        return True
    return _is_tensor(function, value)


def _is_of_helper(function: Function, node: ast.expr) -> bool:
    """Whether it is what a function of this file makes of tensors, which cannot know the cotangent."""
    backward = function.backward
    call = source_of(backward.flow, node) if backward is not None else node
    if backward is None or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return False
    values = [backward.flow.values.get(argument, UNKNOWN) for argument in call.args]
    if call.keywords or not values or any("opaque" in value.tags for value in values):
        return False
    found = (item for item in function.module.tree.body if isinstance(item, ast.FunctionDef))
    definition = next((item for item in found if item.name == call.func.id), None)
    return definition is not None and _is_pure(definition) and any(_is_tensor(function, value) for value in values)


def _is_pure(node: ast.FunctionDef) -> bool:
    """Whether a function returns one expression of its own names and of imported functions, and calls nothing else."""
    stored = {name.id for name in every(node, ast.Name) if isinstance(name.ctx, ast.Store)}
    own = {arg.arg for arg in every(node, ast.arg)} | stored
    calls = (call.func for call in every(node, ast.Call))
    returned = [item.value for item in every(node, ast.Return)]
    return (
        not node.decorator_list
        and bool(returned)
        and all(isinstance(item, ast.BinOp | ast.Call | ast.UnaryOp | ast.Name) for item in returned)
        and not any(isinstance(func, ast.Name) and func.id in own for func in calls)
        and not every(node, ast.Global)
    )


def _is_tensor(function: Function, value: Value) -> bool:
    """Whether it is made of anything but plain data kept on the context."""
    kept = [known(function, root) for root in value.deps]
    return any(item is None or not item.tags & {"plain", "none", "scalar", "opaque"} for item in kept)
