"""Find methods of an autograd.Function that are not static."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint import edits
from pullback_lint.model.function import Function
from pullback_lint.problem import Problem

CODE = "PB106"


def check_function(function: Function) -> Iterator[Problem]:
    if function.is_operator or not isinstance(function.node, ast.ClassDef):
        return
    for statement in function.node.body:
        if not isinstance(statement, ast.FunctionDef) or statement.name not in ROLES or not _parameters(statement):
            continue
        if _is_static(function, statement):
            continue
        legacy = _parameters(statement)[0].arg == "self"
        yield Problem(
            statement,
            f"`{function.name}.{statement.name}` is not a static method",
            fix=f"add `@staticmethod`{', rename `self` to `ctx`,' * legacy} and call `{function.name}.apply(…)`",
            edits=edits.insert_line_above(function.module, statement, "@staticmethod"),
            severity=None if legacy else "warning",
        )


ROLES = {"forward", "backward", "setup_context", "jvp", "vmap", "vjp"}


def _parameters(node: ast.FunctionDef) -> list[ast.arg]:
    return [*node.args.posonlyargs, *node.args.args]


def _is_static(function: Function, node: ast.FunctionDef) -> bool:
    names = {
        function.module.imports.dotted(item.func if isinstance(item, ast.Call) else item)
        for item in node.decorator_list
    }
    if names & {"staticmethod", "classmethod"} or any("static" in name for name in names):
        return True
    assigned = function.attributes.get(node.name)
    return assigned is not None
