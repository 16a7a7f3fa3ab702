"""Compare what is unpacked from saved_tensors with what was saved."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.flow import Flow
from pullback_lint.model.function import Function
from pullback_lint.model.queries import literal
from pullback_lint.model.value import Value
from pullback_lint.model.walk import every
from pullback_lint.problem import Problem

CODE = "PB123"


def check_function(function: Function) -> Iterator[Problem]:
    counts = _saved_counts(function)
    if not counts:
        return
    for flow in function.readers:
        for unpack in flow.unpacks:
            if any(isinstance(target, ast.Starred) for target in unpack.targets) or len(unpack.targets) in counts:
                continue
            if unpack.node.value in flow.values and isinstance(unpack.node.value, ast.Attribute):
                yield Problem(
                    unpack.node,
                    f"{len(unpack.targets)} names for {_counts(counts)} saved tensors",
                    fix="unpack exactly what `save_for_backward` was given",
                )
        yield from _beyond(flow, max(counts))
        yield from _tuple_as_tensor(flow)


def _saved_counts(function: Function) -> set[int]:
    if not function.complete or function.ctx_escapes or not function.saves:
        return set()
    if any(save.values is None for save in function.saves) or "save_for_forward" in function.mark_calls:
        return set()
    return {len(save.values) for save in function.saves if save.values is not None}


def _counts(counts: set[int]) -> str:
    return " or ".join(map(str, sorted(counts)))


def _beyond(flow: Flow, count: int) -> Iterator[Problem]:
    """Indices into the saved tensors behind the last one."""
    for node in every(flow.node, ast.Subscript):
        if node.value in flow.reads and "tensors" in flow.values.get(node.value, Value()).tags:
            index = literal(node.slice)
            if isinstance(index, int) and not -count <= index < count:
                yield Problem(node, f"index {index}, but {count} tensors are saved", fix="save what is read here")


def _tuple_as_tensor(flow: Flow) -> Iterator[Problem]:
    """Arithmetic on the tuple of saved tensors itself."""
    for node in every(flow.node, ast.BinOp):
        if not isinstance(node.op, ast.Add):
            for side in (node.left, node.right):
                value = flow.values.get(side)
                if value is not None and value.tags == {"tensors"} and isinstance(side, ast.Name):
                    yield Problem(
                        side,
                        f"`{side.id}` is the tuple of saved tensors, not a tensor",
                        fix=f"unpack it: `({side.id},) = {flow.ctx}.saved_tensors`",
                    )
