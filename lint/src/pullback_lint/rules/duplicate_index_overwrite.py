"""Find gradients of a lookup that are written instead of added."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, calls_of, known, names_in, text
from pullback_lint.model.value import Value
from pullback_lint.model.walk import every
from pullback_lint.problem import Problem

CODE = "PB212"


def check_function(function: Function) -> Iterator[Problem]:
    backward, forward = function.backward, function.forward
    if backward is None or forward is None:
        return
    looked_up = _indices(forward)
    for node, target, value in _writes(backward):
        index = _written(node)
        if index is None or not value.tags & {"zero", "empty"}:
            continue
        known_index = backward.flow.values.get(index)
        source = _input_behind(function, known_index) if known_index is not None else ""
        if source in looked_up:
            yield Problem(
                node,
                f"entries that `{text(index)}` repeats overwrite each other",
                argument=source,
                fix=f"use `{text(target)}.index_add_(0, {text(index)}, …)` or `scatter_add_`",
                severity=None if _is_integer(forward, source) else "warning",
            )


def _writes(backward: Method) -> Iterator[tuple[ast.AST, ast.expr, Value]]:
    """Assignments to elements: in place, and by operations that return a changed copy."""
    for mutation in backward.flow.mutations.values():
        yield mutation.node, mutation.target, mutation.value
    for call in backward.flow.calls.values():
        if call.name in {"scatter", "index_copy", "index_put"} and call.receiver is not None:
            yield call.node, call.node.func.value, call.receiver  # type: ignore[attr-defined]


def _written(node: ast.AST) -> ast.expr | None:
    """The index of an assignment to elements, or of a scatter without addition."""
    if isinstance(node, ast.AugAssign):
        node = node.target
    if isinstance(node, ast.Subscript):
        return _index_among_slices(node.slice)
    if isinstance(node, ast.Call) and not node.keywords and called(node).rstrip("_") in {"scatter", "index_copy"}:
        return node.args[1] if len(node.args) == 3 else None
    if (
        isinstance(node, ast.Call)
        and called(node).rstrip("_") == "index_put"
        and len(node.args) == 2
        and not node.keywords
    ):
        indices = getattr(node.args[0], "elts", [])
        return indices[0] if len(indices) == 1 else None
    return None


def _index_among_slices(node: ast.expr) -> ast.expr | None:
    """The one index beside whole dimensions: `ids`, `:, ids`, `..., ids`."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    chosen = [part for part in parts if text(part) not in {":", "..."}]
    return chosen[0] if len(chosen) == 1 and isinstance(chosen[0], ast.Name | ast.Attribute) else None


def _indices(forward: Method) -> set[str]:
    """Inputs that forward uses as an index into another tensor."""
    found: set[str] = set()
    for node in every(forward.node, ast.Subscript):
        index = _index_among_slices(node.slice)
        if isinstance(index, ast.Name):
            found.add(index.id)
    for call in calls_of(forward.node, _GATHERS):
        found |= {argument.id for argument in call.args if isinstance(argument, ast.Name)}
    return {name for name in found & {parameter.name for parameter in forward.parameters} if not _MASK.search(name)}


_GATHERS = {"index_select", "gather", "embedding", "take"}
_MASK = re.compile(r"mask|valid|visible|keep|kept|inside|active|alive|live|select|where|chosen|is_|has_")
_INTEGER = re.compile(r"i(n)?d(s|x|ex|ices|exes)?$|ind|perm|order|rows?$|cols?$|labels?$|tokens?$|neigh|^src|^dst|^nn")


def _is_integer(forward: Method, name: str) -> bool:
    """Whether an index is certainly no mask: its name or another use says so."""
    return bool(_INTEGER.search(name)) or any(name in names_in(node) for node in calls_of(forward.node, _GATHERS))


def _input_behind(function: Function, value: Value) -> str:
    """The input that an index is, if it is certainly a tensor."""
    for root in value.alias:
        kept = known(function, root)
        if kept is None or len(kept.alias) != 1:
            continue
        name = next(iter(kept.alias)).removeprefix("in.")
        names = [parameter.name for parameter in function.inputs]
        if root.startswith("saved.") or (name in names and function.is_tensor(names.index(name))):
            return name
    return ""
