"""Find a forward and a setup_context that do not fit each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.walk import every
from pullback_lint.problem import Problem

CODE = "PB117"


def check_function(function: Function) -> Iterator[Problem]:
    yield from _inputs(function)
    forward = function.forward
    if forward is None or not function.has_setup_context or function.is_operator or not forward.names:
        return
    first = forward.names[0].arg
    if first in {"ctx", "context", "_ctx"} and function.own(forward):
        yield Problem(
            forward.node,
            f"with `setup_context`, `forward` gets no context: `{first}` would be the first input",
            fix=f"take `{first}` out of `forward`",
        )


def _inputs(function: Function) -> Iterator[Problem]:
    """Inputs taken apart into more or fewer names than forward has."""
    forward, setup = function.forward, function.method("setup_context")
    if forward is None or setup is None or forward.vararg or not setup.parameters or function.is_operator:
        return
    for node in every(setup.node, ast.Assign):
        if not isinstance(node.value, ast.Name):
            continue
        targets = getattr(node.targets[0], "elts", None)
        if node.value.id != setup.parameters[0].name or targets is None:
            continue
        if len(targets) != len(forward.parameters) and not any(isinstance(item, ast.Starred) for item in targets):
            yield Problem(
                node,
                f"`forward` takes {len(forward.parameters)} inputs, and {len(targets)} are unpacked here",
                fix="unpack one name per input of `forward`",
            )
