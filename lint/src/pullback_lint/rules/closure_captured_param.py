"""Find parameters and modules that a Function uses without getting them as inputs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.queries import called, keyword, literal, text
from pullback_lint.model.walk import every
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
    found: set[str] = set()
    for node in every(function.module.tree, ast.Assign):
        if _makes_trained(function, node.value) and _is_visible(function, node):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def _from_attributes(function: Function) -> set[str]:
    """Names in a method around the class that hold a parameter or module of its object."""
    found: set[str] = set()
    if function.node in function.module.tree.body:
        return found
    parents = function.module.parents
    for node in every(function.module.tree, ast.Assign):
        if _is_visible(function, node) and text(node.value).startswith("self."):
            owner = parents.get(node)
            while owner is not None and not isinstance(owner, ast.ClassDef):
                owner = parents.get(owner)
            stores = every(owner, ast.Assign) if owner is not None else []
            made = (item.value for item in stores if text(item.targets[0]) == text(node.value))
            if any(_makes_trained(function, item) for item in made):
                found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


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


def _is_visible(function: Function, node: ast.Assign) -> bool:
    """Whether an assignment is at module level or in a function around the class."""
    parents = function.module.parents
    owner = parents.get(node)
    while owner is not None and not isinstance(
        owner, ast.Module | ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef
    ):
        owner = parents.get(owner)
    if isinstance(owner, ast.Module):
        return True
    if not isinstance(owner, ast.FunctionDef):
        return False
    return owner.lineno < function.node.lineno <= (owner.end_lineno or 0)
