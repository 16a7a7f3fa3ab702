"""Find saved tensors that nothing reads."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.queries import literal, loaded, text
from pullback_lint.model.walk import every
from pullback_lint.problem import Problem

CODE = "PB702"


def check_function(function: Function) -> Iterator[Problem]:
    if (
        len(function.saves) != 1
        or function.saves[0].values is None
        or function.backward is None
        or not function.complete
    ):
        return
    save = function.saves[0]
    if any(flow.ctx_escapes for flow in function.readers) or len(save.values or ()) != len(save.arguments):
        return
    if function.backward.is_stub or "ctx" in _passed_on(function):
        return
    used = _used(function)
    if used is None:
        return
    for index, argument in enumerate(save.arguments):
        if index not in used and not (isinstance(argument, ast.Constant) and argument.value is None):
            yield Problem(
                argument, f"`{text(argument)}` is saved, but never read", fix="do not save it", severity="note"
            )


def _used(function: Function) -> set[int] | None:
    """The indices that some reader reads; None if that cannot be told."""
    used: set[int] = set()
    for flow in function.readers:
        unpacked = {unpack.node.value: unpack for unpack in flow.unpacks}
        for read in flow.reads.values():
            if read.name not in {"saved_tensors", "saved_variables"}:
                continue
            index = _index(function, read.node)
            if index is not None:
                used.add(index)
                continue
            unpack = unpacked.get(read.node)
            if unpack is None or any(not isinstance(target, ast.Name) for target in unpack.targets):
                return None
            used |= {
                index
                for index, target in enumerate(unpack.targets)
                if isinstance(target, ast.Name) and loaded(flow.node, target.id)
            }
    return used


def _index(function: Function, node: ast.Attribute) -> int | None:
    """The index of `ctx.saved_tensors[1]`."""
    outer = function.module.parents.get(node)
    index = literal(outer.slice) if isinstance(outer, ast.Subscript) and outer.value is node else None
    return index if isinstance(index, int) and index >= 0 else None


def _passed_on(function: Function) -> set[str]:
    """Whether a reader hands its context to somebody else."""
    for flow in function.readers:
        for node in every(flow.node, ast.Call):
            if any(flow.is_ctx(argument) for argument in node.args):
                return {"ctx"}
    return set()
