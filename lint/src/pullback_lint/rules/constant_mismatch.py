"""Find constants that almost agree between forward and backward, and gates with other bounds than the clamp."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import calls_of, literal
from pullback_lint.model.walk import every
from pullback_lint.problem import Problem

CODE = "PB219"


def check_function(function: Function) -> Iterator[Problem]:
    forward, backward = function.forward, function.backward
    if forward is None or backward is None or forward.node is backward.node:
        return
    yield from _clamped(function, forward, backward)
    ours = {value for value, _ in _constants(forward.node)}
    for value, node in _constants(backward.node):
        if value in ours:
            continue
        near = [other for other in sorted(ours) if _is_slip(value, other)]
        if near:
            yield Problem(
                node,
                f"`forward` has {near[0]!r}, `backward` has {value!r}",
                fix="give the constant a name and use it in both",
            )


def _is_slip(one: float, other: float) -> bool:
    """Whether two numbers almost agree, or differ by a digit that was dropped or by two that were exchanged."""
    if 1e-7 < abs(one - other) / abs(other) < 2e-3:
        return True
    short, long = sorted((repr(one), repr(other)), key=len)
    if len(long) == len(short) + 1:
        return any(long[:at] + long[at + 1 :] == short for at in range(len(long)))
    swaps = (long[:at] + long[at + 1] + long[at] + long[at + 2 :] for at in range(len(long) - 1))
    return len(long) == len(short) and short in swaps


def _clamped(function: Function, forward: Method, backward: Method) -> Iterator[Problem]:
    """Bounds of a gate in backward that are none of the bounds of the clamp in forward."""
    bounds = [_bounds(node) for node in calls_of(forward.node, {"clamp", "clip", "hardtanh"})]
    if len(bounds) != 1 or len(bounds[0]) != 2:
        return
    for node in every(backward.node, ast.Compare):
        if len(node.ops) == 1 and _is_saved(backward, node.left):
            bound = literal(node.comparators[0])
            if isinstance(bound, int | float) and bound not in {0, *bounds[0], *(abs(item) for item in bounds[0])}:
                low, high = sorted(bounds[0])
                yield Problem(
                    node,
                    f"`forward` clamps to {low:g} … {high:g}, `backward` compares with {bound:g}",
                    fix="give the bounds names and use them in both",
                )


def _is_saved(backward: Method, node: ast.expr) -> bool:
    value = backward.flow.values.get(node)
    return value is not None and any(root.startswith("saved.") for root in value.deps)


def _bounds(node: ast.AST) -> set[float]:
    """The numbers among the arguments of a call."""
    given = [*node.args, *(item.value for item in node.keywords)] if isinstance(node, ast.Call) else []
    return {value for item in given if isinstance(value := literal(item), int | float)}


def _constants(tree: ast.AST) -> Iterator[tuple[float, ast.Constant]]:
    """Floats with at least four significant digits."""
    for node in every(tree, ast.Constant):
        if isinstance(node.value, float) and 0 < abs(node.value) < 1e15:
            digits = repr(node.value).replace(".", "").strip("0")
            if len(digits) >= 4:
                yield node.value, node
