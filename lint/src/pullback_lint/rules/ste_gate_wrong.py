"""Find gates that are always open or never: bounds joined by the wrong word."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, calls_of, closure, literal, source_of, sources_of, text
from pullback_lint.model.walk import every
from pullback_lint.problem import Problem

CODE = "PB217"


_LOW = re.compile(r"(^|_|\.)(lo|low|lower|min|minimum|minval|a|left)(_|$)|lower|min", re.IGNORECASE)
_HIGH = re.compile(r"(^|_|\.)(hi|high|upper|max|maximum|maxval|b|right)(_|$)|upper|max", re.IGNORECASE)


def check_function(function: Function) -> Iterator[Problem]:
    if function.backward is None:
        return
    yield from _closed_inside(function)
    for node in (*every(function.backward.node, ast.BinOp), *every(function.backward.node, ast.Call), *_kept(function)):
        joined = _joined(node)
        if joined is None:
            continue
        word, sides = joined
        limits = [_limit(side) for side in sides]
        if any(limit is None for limit in limits) or limits[0][0] != limits[1][0]:  # type: ignore[index]
            continue
        open_side, closed_side = _order(limits)
        if open_side is None:
            continue
        if word == "or" and _is_low(open_side) and _is_high(closed_side):
            yield Problem(node, f"`{text(node)}` is always true", fix="join the two conditions with and")
        if word == "and" and _is_high(open_side) and _is_low(closed_side):
            yield Problem(node, f"`{text(node)}` is never true", fix="join the two conditions with or")


def _kept(function: Function) -> Iterator[ast.AST]:
    """The expressions that forward keeps for backward."""
    if function.forward is not None and function.is_surrogate:
        for save in function.saves:
            for argument in save.arguments:
                yield from closure(function.forward.flow, argument)


def _joined(node: ast.AST) -> tuple[str, list[ast.expr]] | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr | ast.BitAnd):
        return ("or" if isinstance(node.op, ast.BitOr) else "and"), [node.left, node.right]
    if isinstance(node, ast.Call) and called(node) in {"logical_or", "logical_and"} and len(node.args) == 2:
        return ("or" if called(node) == "logical_or" else "and"), list(node.args)
    return None


def _limit(node: ast.expr) -> tuple[str, str, str] | None:
    """What is compared, whether it is to be above or below, and the bound."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return None
    if isinstance(node.ops[0], ast.Gt | ast.GtE):
        return text(node.left), "above", text(node.comparators[0])
    if isinstance(node.ops[0], ast.Lt | ast.LtE):
        return text(node.left), "below", text(node.comparators[0])
    return None


def _order(limits: list[tuple[str, str, str] | None]) -> tuple[str | None, str]:
    """The bound that is to be exceeded and the one to stay under, if there is one of each."""
    kinds = {limit[1]: limit[2] for limit in limits if limit is not None}
    return kinds.get("above"), kinds.get("below", "")


def _is_low(bound: str | None) -> bool:
    return bound is not None and (_number(bound) or 0) <= 0 and bool(_LOW.search(bound) or bound.startswith("-"))


def _is_high(bound: str | None) -> bool:
    if bound is None:
        return False
    number = _number(bound)
    return number > 0 if number is not None else bool(_HIGH.search(bound)) and not bound.startswith("-")


def _number(bound: str) -> float | None:
    try:
        return float(bound)
    except ValueError:
        return None


_STEPS = {"sign", "round", "clamp", "clip", "floor", "ceil", "hardtanh", "trunc"}


def _closed_inside(function: Function) -> Iterator[Problem]:
    """Gates of a rounding or clamping forward that stop the gradient where it should pass."""
    forward, backward = function.forward, function.backward
    stepped = forward is not None and calls_of(forward.node, _STEPS)
    if forward is None or backward is None or not stepped or any(map(_is_shrinking, every(forward.node, ast.BinOp))):
        return
    for _, elements in function.gradients:
        for node in [item for element in elements for item in sources_of(backward.flow, element.node)]:
            sides = (node.left, node.right) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) else ()
            for side in sides:
                gate = _uncast(backward, side)
                if _is_outside(gate):
                    yield _inverted(side, gate)
    for mutation in backward.flow.mutations.values():
        target = mutation.node
        if not isinstance(target, ast.Subscript) or not _is_zeroed(function, target):
            continue
        if _is_inside(source_of(backward.flow, target.slice)):
            yield _inverted(target, target.slice)


def _is_shrinking(node: ast.BinOp) -> bool:
    """Whether forward subtracts a threshold from an absolute value, as soft shrinkage does."""
    return isinstance(node.op, ast.Sub) and called(node.left) == "abs"


def _inverted(node: ast.expr, gate: ast.expr) -> Problem:
    return Problem(
        node,
        f"`{text(gate)}` stops the gradient where the output follows the input, and lets it pass outside",
        fix="invert the gate",
        severity="warning",
    )


def _uncast(backward: Method, node: ast.expr) -> ast.expr:
    """A mask without what makes numbers of it."""
    node = source_of(backward.flow, node)
    while isinstance(node, ast.Call) and called(node) in {"float", "to", "type_as", "double", "half"}:
        if not isinstance(node.func, ast.Attribute):
            break
        node = source_of(backward.flow, node.func.value)
    return node


def _is_outside(node: ast.expr) -> bool:
    """Whether it holds for large absolute values: `x.abs() > 1`, `torch.abs(x) >= 1`."""
    limit = _limit(node)
    return isinstance(node, ast.Compare) and called(node.left) == "abs" and limit is not None and limit[1] == "above"


def _is_inside(node: ast.expr) -> bool:
    """Whether it holds between two bounds, or for small absolute values."""
    joined = _joined(node)
    if joined is None:
        limit = _limit(node)
        inner = isinstance(node, ast.Compare) and called(node.left) == "abs"
        return inner and limit is not None and limit[1] == "below"
    word, sides = joined
    limits = [_limit(side) for side in sides]
    if word != "and" or any(limit is None for limit in limits):
        return False
    above, below = _order(limits)
    return above is not None and _is_low(above) and _is_high(below)


def _is_zeroed(function: Function, node: ast.AST) -> bool:
    parent = function.module.parents.get(node)
    return isinstance(parent, ast.Assign) and literal(parent.value) == 0
