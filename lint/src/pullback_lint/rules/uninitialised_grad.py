"""Find gradients made with empty and filled through a mask or index only."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint import edits
from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, literal, source_of, text
from pullback_lint.problem import Edit, Problem

CODE = "PB312"


def check_function(function: Function) -> Iterator[Problem]:
    backward = function.backward
    if backward is None:
        return
    for _, elements in function.gradients:
        for element in elements:
            maker = _maker(backward, element.node)
            if (
                maker is not None
                and "opaque" not in element.value.tags
                and not _is_filled(function, backward, element.node)
            ):
                yield Problem(
                    maker,
                    f"`{text(element.node)}` keeps whatever was in memory where nothing is assigned",
                    fix=f"use `{called(maker).replace('empty', 'zeros')}`",
                    edits=_edits(function, maker),
                )


def _maker(backward: Method, node: ast.expr) -> ast.expr | None:
    """The `empty` call that made a gradient."""
    shown = source_of(backward.flow, node)
    return shown if called(shown) in {"empty", "empty_like", "new_empty"} else None


def _is_filled(function: Function, backward: Method, node: ast.expr) -> bool:
    """Whether something may fill all of it; assignments through an index of tensors do not."""
    if not isinstance(node, ast.Name):
        return False
    writes = [item for item in backward.flow.mutations.values() if backward.flow.key(item.target) == node.id]
    if len(writes) == 1 and _is_inner_slice(writes[0].node):
        return False
    if writes and all(called(item.node) in _ADDING for item in writes):
        return False
    for mutation in writes:
        place = mutation.node
        if not isinstance(place, ast.Subscript) or not _is_partial(backward, place.slice) or _in_loop(function, place):
            return True
    return False


_ADDING = {"index_add_", "scatter_add_", "add_", "scatter_reduce_", "addmm_", "addcmul_"}
"""What adds to the values that are there."""


def _is_inner_slice(place: ast.AST) -> bool:
    """Whether an assignment leaves out the first or last elements, such as `grad[1:-1] = …`."""
    if not isinstance(place, ast.Subscript):
        return False
    parts = place.slice.elts if isinstance(place.slice, ast.Tuple) else [place.slice]
    slices = [part for part in parts if isinstance(part, ast.Slice)]
    bounds = [literal(bound) for part in slices for bound in (part.lower, part.upper)]
    strided = [part.step for part in slices if part.step is not None and literal(part.step) != 1]
    return bool(strided) or any(isinstance(bound, int) and bound != 0 for bound in bounds)


def _is_partial(backward: Method, index: ast.expr) -> bool:
    value = backward.flow.values.get(index)
    return isinstance(index, ast.Compare) or (
        value is not None and isinstance(index, ast.Name | ast.Attribute) and bool(value.deps)
    )


def _in_loop(function: Function, node: ast.AST) -> bool:
    parent = function.module.parents.get(node)
    while parent is not None and not isinstance(parent, ast.FunctionDef):
        if isinstance(parent, ast.For | ast.While):
            return True
        parent = function.module.parents.get(parent)
    return False


def _edits(function: Function, maker: ast.expr) -> tuple[Edit, ...]:
    if not isinstance(maker, ast.Call):
        return ()
    return edits.replace_node(function.module, maker.func, text(maker.func).replace("empty", "zeros"))
