"""Find attributes of the context that backward reads and nothing sets."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model import tables
from pullback_lint.model.flow import Flow
from pullback_lint.model.function import Function
from pullback_lint.model.queries import called, literal
from pullback_lint.model.walk import walk
from pullback_lint.problem import Problem

CODE = "PB125"


def check_function(function: Function) -> Iterator[Problem]:
    if function.ctx_escapes or not function.complete or function.forward is None:
        return
    given = _stored(function) | function.attributes.keys() | function.members.keys() | tables.CTX_API
    for flow in function.readers:
        if flow.ctx is None or not (function.own(function.backward) or function.own(function.forward)):
            continue
        mine = {item.name for item in flow.sets.values()}
        checked = _checked(flow)
        for read in flow.reads.values():
            if read.name in given | mine | checked or read.name.startswith("__"):
                continue
            yield Problem(
                read.node,
                f"`{flow.ctx}.{read.name}` is never set",
                fix=f"set `{flow.ctx}.{read.name}` in `{'setup_context' if function.has_setup_context else 'forward'}`",
            )


def _stored(function: Function) -> set[str]:
    """All attributes that any method of the class or its module's helpers store."""
    found: set[str] = set()
    for node in {id(module): module for _, module in function.members.values()}.values():
        for child in node.nodes:
            if isinstance(child, ast.Attribute) and not isinstance(child.ctx, ast.Load):
                found.add(child.attr)
            elif called(child) == "setattr" and isinstance(child, ast.Call) and len(child.args) > 1:
                name = literal(child.args[1])
                found |= {name} if isinstance(name, str) else set()
    return found


def _checked(flow: Flow) -> set[str]:
    """Attributes asked for with hasattr, getattr, or under a try."""
    found: set[str] = set()
    for node in walk(flow.node):
        if called(node) in {"hasattr", "getattr"} and isinstance(node, ast.Call) and len(node.args) > 1:
            found.add(str(literal(node.args[1])))
        elif isinstance(node, ast.Try):
            found |= {child.attr for child in walk(node) if isinstance(child, ast.Attribute)}
    return found
