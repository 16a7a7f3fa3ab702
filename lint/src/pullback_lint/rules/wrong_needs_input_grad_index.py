"""Find indices into needs_input_grad that are out of range or belong to another input."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Element, Method
from pullback_lint.model.queries import literal, names_in
from pullback_lint.model.walk import every
from pullback_lint.problem import Problem

CODE = "PB113"


def check_function(function: Function) -> Iterator[Problem]:
    if function.forward is None or function.backward is None or function.is_operator:
        return
    if function.forward.vararg is None and function.inputs:
        yield from _out_of_range(function)
    yield from _other_input(function)


def _out_of_range(function: Function) -> Iterator[Problem]:
    count = len(function.inputs)
    for flow in (*function.fillers, *function.readers):
        for node in every(flow.node, ast.Assign):
            names = _unpacked(node, flow.ctx)
            if names and len(names) != count and not any(isinstance(item, ast.Starred) for item in names):
                yield Problem(
                    node,
                    f"{len(names)} names for the {count} entries of `needs_input_grad`, one per input",
                    fix="unpack one name per input of `forward`, without the context",
                )
        for item in every(flow.node, ast.Subscript):
            index = _index(item, flow.ctx)
            if index is not None and not -count <= index < count:
                yield Problem(
                    item,
                    f"`needs_input_grad` has {count} entries, one per input; index {index} is out of range",
                    fix="use the position of the input in `forward`, without the context",
                )


def _unpacked(node: ast.Assign, ctx: str | None) -> list[ast.expr]:
    """The names of `a, b = ctx.needs_input_grad`."""
    return getattr(node.targets[0], "elts", []) if _is_asked(node.value, ctx) else []


def _is_asked(node: ast.expr, ctx: str | None) -> bool:
    """Whether it is `ctx.needs_input_grad`."""
    named = isinstance(node, ast.Attribute) and node.attr == "needs_input_grad"
    return named and isinstance(node.value, ast.Name) and node.value.id == ctx  # type: ignore[attr-defined]


def _index(node: ast.AST, ctx: str | None) -> int | None:
    """The index of a `ctx.needs_input_grad[index]`."""
    if not isinstance(node, ast.Subscript) or not _is_asked(node.value, ctx):
        return None
    value = literal(node.slice)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _other_input(function: Function) -> Iterator[Problem]:
    backward = function.backward
    if backward is None:
        return
    guarded = _guarded_names(backward)
    for _, elements in function.gradients:
        for place, element in enumerate(elements):
            node = element.node
            if not isinstance(node, ast.Name) or node.id not in guarded or place >= len(function.inputs):
                continue
            index, test = guarded[node.id]
            if index >= 0 and index != place and not _shared(elements, node.id, index):
                yield Problem(
                    test,
                    f"`{node.id}`, the gradient of `{function.inputs[place].name}` (input {place}), "
                    f"is computed only if input {index} needs one",
                    argument=function.inputs[place].name,
                    fix=f"use `needs_input_grad[{place}]`",
                )


def _shared(elements: tuple[Element, ...], name: str, index: int) -> bool:
    """Whether the gradient at the guard's index uses the same name or cannot be told apart."""
    return index < len(elements) and name in names_in(elements[index].node)


def _guarded_names(backward: Method) -> dict[str, tuple[int, ast.AST]]:
    """Names that get a value under exactly one guard, and nowhere else."""
    found: dict[str, tuple[int, ast.AST]] = {}
    often: set[str] = set()
    for node in (*every(backward.node, ast.Assign), *every(backward.node, ast.If)):
        for name, index, test in _guarded(node, backward.ctx):
            if name in found:
                often.add(name)
            found[name] = (index, test)
    counts: dict[str, int] = {}
    for name, sources in backward.flow.assignments.items():
        counts[name] = sum(literal(source) is not None or not isinstance(source, ast.Constant) for source in sources)
    return {name: pair for name, pair in found.items() if name not in often and counts.get(name, 0) == 1}


def _guarded(node: ast.AST, ctx: str | None) -> Iterator[tuple[str, int, ast.AST]]:
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.IfExp) and isinstance(node.targets[0], ast.Name):
        index = _index(node.value.test, ctx)
        if index is not None:
            yield node.targets[0].id, index, node.value.test
    if isinstance(node, ast.If) and not node.orelse:
        index = _index(node.test, ctx)
        targets = [item.targets[0] for item in node.body if isinstance(item, ast.Assign)]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if index is not None and len(names) == 1:
            yield names[0], index, node.test
