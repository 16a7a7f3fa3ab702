"""Find parameters and modules that a Function uses without getting them as inputs."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.queries import called, keyword, literal, text
from pullback_lint.model.walk import apart, every
from pullback_lint.problem import Problem

CODE = "PB311"


def check_function(function: Function) -> Iterator[Problem]:
    forward = function.forward
    if forward is None or not function.own(forward) or function.is_operator:
        return
    trained = _trained(function) | _from_attributes(function)
    bound = {arg.arg for arg in every(forward.node, ast.arg)} | set(forward.flow.assignments)
    for node in every(forward.node, ast.Name):
        if isinstance(node.ctx, ast.Load) and node.id in trained and node.id not in bound:
            yield Problem(
                node,
                f"`{node.id}` comes from outside: autograd tracks the inputs of `apply` alone",
                argument=node.id,
                fix=f"pass `{node.id}` as an input and return its gradient",
            )
            return


def _trained(function: Function) -> set[str]:
    """Names outside of the class that hold parameters, modules or tensors that require a gradient."""
    return _names(node for node in _visible(function) if _makes_trained(function, node.value))


def _names(assignments: Iterable[ast.Assign]) -> set[str]:
    return {target.id for node in assignments for target in node.targets if isinstance(target, ast.Name)}


def _visible(function: Function) -> Iterator[ast.Assign]:
    """The assignments at module level and in the functions around the class."""
    module = function.module
    outer = (apart(owner.body) for owner in module.around(function.node.lineno))
    return (node for nodes in (module.outermost, *outer) for node in nodes if isinstance(node, ast.Assign))


def _from_attributes(function: Function) -> set[str]:
    """Names in a method around the class that hold a parameter or module of its object."""
    return _names(node for node in _visible(function) if _is_trained_attribute(function, node))


def _is_trained_attribute(function: Function, node: ast.Assign) -> bool:
    """Whether the value is an attribute of `self` to which the class around assigns a parameter or module."""
    if not isinstance(node.value, ast.Attribute) or not text(node.value).startswith("self."):
        return False
    owner = function.module.parents.get(node)
    while owner is not None and not isinstance(owner, ast.ClassDef):
        owner = function.module.parents.get(owner)
    stores = every(owner, ast.Assign) if owner is not None else []
    made = (item.value for item in stores if text(item.targets[0]) == text(node.value))
    return any(_makes_trained(function, item) for item in made)


def _makes_trained(function: Function, node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    dotted = function.module.imports.dotted(node.func)
    if dotted in {"torch.nn.Parameter", "torch.nn.parameter.Parameter"}:
        return literal(keyword(node, "requires_grad")) is not False
    if called(node) == "requires_grad_" and not node.args:
        return True
    if dotted.startswith("torch.nn.") and dotted.rpartition(".")[2][:1].isupper():
        return dotted.rpartition(".")[2] in _MODULES
    return dotted.startswith("torch.") and literal(keyword(node, "requires_grad")) is True


_MODULES = {"Linear", "Conv1d", "Conv2d", "Conv3d", "Bilinear", "LayerNorm", "BatchNorm1d", "BatchNorm2d", "Embedding",
            "PReLU", "GRU", "LSTM", "RNN", "Sequential", "ParameterList"}  # fmt: skip
