"""Find attributes of the context that backward reads and nothing sets."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model import tables
from pullback_lint.model.flow import Flow
from pullback_lint.model.function import Function
from pullback_lint.model.queries import calls_of, literal
from pullback_lint.model.walk import every
from pullback_lint.problem import Problem

CODE = "PB125"


def check_function(function: Function) -> Iterator[Problem]:
    if function.ctx_escapes or not function.complete or function.forward is None:
        return
    stored = (module.stored_attributes for _, module in function.members.values())
    given = tables.CTX_API.union(*stored, function.attributes, function.members)
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


def _checked(flow: Flow) -> set[str]:
    """Attributes asked for with hasattr, getattr, or under a try."""
    found: set[str] = set()
    for call in calls_of(flow.node, {"hasattr", "getattr"}):
        if len(call.args) > 1:
            found.add(str(literal(call.args[1])))
    return found.union(child.attr for node in every(flow.node, ast.Try) for child in every(node, ast.Attribute))
