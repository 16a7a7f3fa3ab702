"""Find divisions by a norm, root or absolute value that may be zero."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.flow import Flow
from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, calls_of, closure, known, literal, source_of, text
from pullback_lint.model.walk import every
from pullback_lint.problem import Problem

CODE = "PB604"


_SAFE = {"where", "clamp", "clamp_min", "maximum", "nan_to_num", "masked_fill", "masked_fill_", "clamp_", "clamp_min_"}


def check_function(function: Function) -> Iterator[Problem]:
    backward = function.backward
    if backward is None or calls_of(backward.node, _SAFE) or _forward_divides(function):
        return
    for node in _quotients(backward):
        divisor = _divisor(node)
        if divisor is not None and any(
            test(function, backward, divisor) for test in (_may_vanish, _saturates, _is_factor)
        ):
            yield Problem(
                node,
                f"`{text(divisor)}` may be zero: the gradient is infinite or NaN there",
                fix="divide by `torch.where(n == 0, torch.ones_like(n), n)`, or clamp it from below",
                severity="warning",
            )
            return


def _quotients(method: Method) -> Iterator[ast.expr]:
    """Whatever may divide."""
    yield from (node for node in every(method.node, ast.BinOp) if isinstance(node.op, ast.Div))
    yield from calls_of(method.node, {"rsqrt"})


def _divisor(node: ast.AST) -> ast.expr | None:
    """By what an expression divides, without constant factors."""
    if called(node) == "rsqrt" and isinstance(node, ast.Call):
        return node
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
        return None
    divisor = node.right
    while isinstance(divisor, ast.BinOp) and isinstance(divisor.op, ast.Mult) and literal(divisor.left) is not None:
        divisor = divisor.right
    return divisor


def _saturates(_function: Function, backward: Method, node: ast.expr) -> bool:
    """Whether it is `p * (1 - p)` of a probability computed here, which rounds to zero far from the middle."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return False
    for one, other in ((node.left, node.right), (node.right, node.left)):
        rest = other.right if isinstance(other, ast.BinOp) and isinstance(other.op, ast.Sub) else None
        if rest is not None and text(rest) == text(one) and called(source_of(backward.flow, one)) == "sigmoid":
            return True
    return False


def _is_factor(function: Function, backward: Method, node: ast.expr) -> bool:
    """Whether a product that forward forms is divided by its own factor, which may be zero."""
    if function.forward is None or not calls_of(function.forward.node, {"prod", "cumprod"}):
        return False
    value = backward.flow.values.get(node)
    roots = [known(function, root) for root in (value.alias if value is not None else ())]
    return len(roots) == 1 and roots[0] is not None and roots[0].alias == {f"in.{function.first}"}


def _forward_divides(function: Function) -> bool:
    """Whether forward divides by a bare norm itself: where that is zero the function is not defined either."""
    forward = function.forward
    if forward is None:
        return False
    divisors = filter(None, map(_divisor, _quotients(forward)))
    shown = [source_of(forward.flow, divisor) for divisor in divisors]
    return any(called(node) in _NORMS and isinstance(node, ast.Call) and _is_bare(forward.flow, node) for node in shown)


_NORMS = {"norm", "vector_norm"}
_VANISHING = {"norm", "vector_norm", "sqrt", "abs", "rsqrt"}


def _may_vanish(function: Function, backward: Method, node: ast.expr) -> bool:
    """Whether an expression is a bare norm, root or absolute value, computed here or in forward."""
    shown = source_of(backward.flow, node)
    if called(shown) in _VANISHING and isinstance(shown, ast.Call):
        value = backward.flow.values.get(shown)
        saved = value is not None and any(root.startswith("saved.") for root in value.smooth)
        return saved and _is_bare(backward.flow, shown)
    kept = _kept(function, backward, node)
    flow = function.forward.flow if function.forward is not None else backward.flow
    return called(kept) in _VANISHING - {"rsqrt"} and isinstance(kept, ast.Call) and _is_bare(flow, kept)


_BOUNDED = {"clamp", "clip", "clamp_min", "maximum", "exp", "cosh", "softplus"}


def _is_bare(flow: Flow, node: ast.Call) -> bool:
    """Whether nothing keeps what the norm or root is taken of away from zero."""
    if any(called(child) in _BOUNDED for child in closure(flow, node)):
        return False
    sums = (child for child in every(node, ast.BinOp) if isinstance(child.op, ast.Add | ast.Sub))
    sides = [side for child in sums for side in (child.left, child.right)]
    if called(node) in {"sqrt", "rsqrt"}:
        return not sides
    return not any(literal(side) is not None or "eps" in text(side) for side in sides)


def _kept(function: Function, backward: Method, node: ast.expr) -> ast.expr | None:
    """What forward saved under a name of backward."""
    value = backward.flow.values.get(node)
    if not isinstance(node, ast.Name) or value is None or len(value.alias) != 1 or len(function.saves) != 1:
        return None
    index = min(value.alias).removeprefix("saved.")
    if function.forward is None or not index.isdigit() or int(index) >= len(function.saves[0].arguments):
        return None
    return source_of(function.forward.flow, function.saves[0].arguments[int(index)])
