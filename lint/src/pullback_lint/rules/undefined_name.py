"""Find names that backward reads and only forward has."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.module import BUILTINS
from pullback_lint.model.walk import every
from pullback_lint.problem import Problem

CODE = "PB120"


def check_function(function: Function) -> Iterator[Problem]:
    backward, forward = function.backward, function.forward
    if backward is None or forward is None or function.module.imports.stars or not function.own(backward):
        return
    theirs = _bound(forward.node) - _bound(backward.node) - function.module.module_names - BUILTINS - {"__class__"}
    read = [node for node in every(backward.node, ast.Name) if node.id in theirs]
    outside = _enclosing(function) if read else set()
    for node in read:
        if node.id not in outside:
            yield Problem(
                node,
                f"`{node.id}` exists in `forward` only",
                fix=f"keep it on the context in `forward` and read it back: `{backward.ctx}.{node.id}`",
            )


def _bound(node: ast.AST) -> set[str]:
    """All names that a function binds, nested ones included."""
    return {name for kind in _BINDING for child in every(node, kind) for name in _bound_by(child)}


_BINDING = (ast.Name, ast.arg, ast.alias, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler,
            ast.MatchAs, ast.MatchStar)  # fmt: skip


def _bound_by(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Name):
        return set() if isinstance(node.ctx, ast.Load) else {node.id}
    if isinstance(node, ast.arg):
        return {node.arg}
    if isinstance(node, ast.alias):
        return {(node.asname or node.name).partition(".")[0]}
    name = getattr(node, "name", None)
    return {name} if isinstance(name, str) else set()


def _enclosing(function: Function) -> set[str]:
    """The names of the functions that the class is nested in."""
    outer = function.module.around(function.node.lineno)
    return set().union(*(_bound_around(node, function.node) for node in outer))


def _bound_around(node: ast.AST, inner: ast.AST) -> set[str]:
    """What a function binds outside of the class in it."""
    waiting = list(ast.iter_child_nodes(node))
    found: set[str] = set()
    while waiting:
        child = waiting.pop()
        if child is not inner:
            found |= _bound_by(child)
            waiting.extend(ast.iter_child_nodes(child))
    return found
