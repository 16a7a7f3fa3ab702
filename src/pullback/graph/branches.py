"""Conditions in gradients: one outermost ``where`` per condition, and no dead branch that could leak a NaN.

A zero or a number from one branch is never multiplied by something infinite from outside: products move into the
branches. Inside a branch, functions that are infinite or undefined somewhere get an argument that is harmless wherever
the branch is dead (the *double where*), so that further derivatives are finite as well.
"""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

from pullback.graph.functions import Term, nonzero, where
from pullback.graph.ops import SAFE
from pullback.graph.reductions import SHAPES, Along
from pullback.graph.stable import everywhere

IsTensor = Callable[[Term], bool]


def gather(term: Term, is_tensor: IsTensor) -> Term:
    """Move factors into branches that are zero or plain numbers, and join branches of one condition."""
    return everywhere(term, lambda node: _gather(node, is_tensor))


def guard(term: Term, is_tensor: IsTensor) -> Term:
    """Give every partial function inside a branch an argument that is harmless where the branch is dead.

    >>> x = sp.Symbol("x", real=True)
    >>> guard(where(x > 0, 1 / x, 0), lambda term: bool(term.free_symbols))
    where(x > 0, 1/where(x > 0, x, 1), 0)
    """

    def visit(node: Term) -> Term:
        if node.func is where and node.args != nonzero(node.args[2]).args:
            cond, a, b = node.args
            return where(cond, _guarded(visit(a), cond, is_tensor), _guarded(visit(b), sp.Not(cond), is_tensor))
        return node.func(*map(visit, node.args)) if node.args and node.has(where) else node

    return visit(term)


def _plain(node: Term, is_tensor: IsTensor) -> bool:
    """Whether a ``where`` chooses between numbers only; PyTorch would not give that the dtype of the arguments."""
    return all(_plain(b, is_tensor) if b.func is where else not is_tensor(b) for b in node.args[1:])


def _gather(node: Term, is_tensor: IsTensor) -> Term:
    if node.func is where:
        return _nested(node)
    if not node.args or isinstance(node, sp.logic.boolalg.Boolean):
        return node
    choices = [a for a in node.args if a.func is where]
    chosen = next((c for c in choices if _must_move(node, c, choices, is_tensor)), None)
    return node if chosen is None else _pushed(node, chosen, is_tensor)


def _must_move(node: Term, choice: Term, choices: list[Term], is_tensor: IsTensor) -> bool:
    if isinstance(node, (Along, *SHAPES)):
        return False
    if _plain(choice, is_tensor):
        return True
    if not isinstance(node, (sp.Mul, sp.Add)):
        return False
    beside_number = any(a.is_number for a in node.args)
    same = sum(c.args[0] == choice.args[0] for c in choices) > 1
    numbers_inside = any(b.func is where and _plain(b, is_tensor) for b in choice.args[1:])
    return beside_number or same or (isinstance(node, sp.Mul) and (0 in choice.args[1:] or numbers_inside))


def _pushed(node: Term, choice: Term, is_tensor: IsTensor) -> Term:
    """``node`` with the condition of ``choice`` decided in each of two branches."""
    cond = choice.args[0]
    parts = [node.func(*(_decided(arg, cond, which) for arg in node.args)) for which in (0, 1)]
    return _nested(where(cond, *(_gather(p, is_tensor) for p in parts)))


def _decided(node: Term, cond: Term, which: int) -> Term:
    return node.args[1 + which] if node.func is where and node.args[0] == cond else node


def _nested(node: Term) -> Term:
    if node.func is not where:
        return node
    cond, a, b = node.args
    if a.func is where and a.args[0] == cond:
        return _nested(where(cond, a.args[1], b))
    if b.func is where and b.args[0] == cond:
        return _nested(where(cond, a, b.args[2]))
    if a.func is where and b == 0 and a.args[2] == 0:
        return where(sp.And(cond, a.args[0]), a.args[1], 0)
    if b.func is where and a == 0 and b.args[1] == 0:
        return where(sp.Or(cond, b.args[0]), 0, b.args[2])
    if b.func is where and a == b.args[1]:
        return where(sp.Or(cond, b.args[0]), a, b.args[2])
    return node


def _guarded(branch: Term, cond: Term, is_tensor: IsTensor) -> Term:
    def harmless(u: Term, at: int) -> Term:
        return where(cond, u, at) if is_tensor(u) and u.func is not where else u

    def rule(node: Term) -> Term:
        if node.func is sp.Pow and not (node.exp.is_integer and node.exp.is_positive):
            return sp.Pow(harmless(node.base, 1), node.exp)
        at = SAFE.get(node.func)
        return node if at is None else node.func(*(harmless(u, at) for u in node.args))

    return _outside_conditions(branch, rule)


def _outside_conditions(term: Term, rule: Callable[[Term], Term]) -> Term:
    if not term.args or isinstance(term, (sp.logic.boolalg.Boolean, Along, *SHAPES)):  # of another shape
        return term
    return rule(term.func(*(_outside_conditions(a, rule) for a in term.args)))
