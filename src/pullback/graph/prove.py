"""Is a hand-written backward right? Compared with the derived gradient branch by branch, else at random points.

*Proved*: the two are equal as expressions in every branch met. *Tested*: they agree to many digits wherever they were
evaluated. *Wrong*: there is a point where they differ, and the right formula.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import mpmath
import sympy as sp

from pullback.define.decorate import function_of
from pullback.graph import functions as f
from pullback.graph.derive import differentiate, gradients
from pullback.graph.formula import COTANGENT, OUT, Formula, symbol
from pullback.graph.functions import Term
from pullback.graph.joint import joint
from pullback.graph.printer import Printer
from pullback.graph.read import read, total
from pullback.graph.stable import everywhere, stable

DIGITS = 50
"""The digits that evaluation carries."""

CLOSE = 1e-6
"""How near two values are that agree: authors write constants with a few digits."""

_POINTS = 32
_ENOUGH = 10


@dataclass(frozen=True)
class Judgement:
    """What is known about the gradient of one argument.

    Args:
        verdict: ``proved``, ``tested`` or ``wrong``.
        formula: The right gradient as Python code.
        point: Where the two differ, with both values; empty unless wrong.
    """

    verdict: str
    formula: str
    point: dict[str, float] = field(default_factory=dict)


def prove(target: Any, *inputs: Any) -> dict[str, Judgement]:
    """Judge the rules of a Function or the backward of an autograd.Function, argument by argument.

    Arguments whose gradient is derived, or declared not to exist, are left out.

    Args:
        target: A Function or an autograd.Function; pointwise, with one output.
        inputs: Arguments of the kinds and shapes it is applied to.

    Raises:
        TraceError: Where it cannot be traced to known operations.

    >>> import torch
    >>> class Cube(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x**3
    ...     @staticmethod
    ...     def backward(ctx, grad_output):
    ...         (x,) = ctx.saved_tensors
    ...         return grad_output * 2 * x**2
    >>> prove(Cube, torch.ones(2, dtype=torch.float64))["x"].formula
    '3 * grad_output * x**2'
    """
    traced, made = joint(target, *inputs), function_of(target)
    out, *theirs = read(traced)
    formula = Formula(traced.name, traced.parameters, out, domain="real")
    both = zip(formula.tensors, theirs, strict=False)
    return {n: judge(formula, n, grad) for n, grad in both if made is None or made.declared(n) is not None}


def judge(formula: Formula, name: str, theirs: Term) -> Judgement:
    """Compare one gradient, an expression of the cotangent, with the derived one."""
    printer = Printer(formula, {OUT: "output", COTANGENT: "grad_output"})
    shown = printer(gradients(formula, [name])[name])
    right = COTANGENT * differentiate(stable(formula.out), symbol(name))
    both = _Branches(_branched(_unreduced(theirs) - right), _branched(right))
    agreed = 0
    for point in _points(both):
        values = both.at(point)
        if values is None:
            continue
        error, size = values
        if abs(error) > CLOSE * (1 + abs(size)):
            at = {k.name: float(v) for k, v in point.items() if k != COTANGENT}
            return Judgement("wrong", shown, {**at, "theirs": float(size + error), "right": float(size)})
        agreed += 1
    if agreed < _ENOUGH:
        return Judgement("tested" if agreed else "unknown", shown)
    return Judgement("proved" if all(map(_is_zero, both.met.values())) else "tested", shown)


class _Branches:
    """The difference of two gradients and the right one, evaluated branch by branch.

    Args:
        difference: Theirs less the right one.
        right: The right one.
    """

    def __init__(self, difference: Term, right: Term) -> None:
        self.terms = difference, right
        self.symbols = sorted(difference.free_symbols | right.free_symbols, key=str)
        self.conditions = sorted(set(_conditions(difference)) | set(_conditions(right)), key=str)
        self.met: dict[tuple[bool, ...], Term] = {}
        self.compiled: dict[tuple[bool, ...], Any] = {}

    def at(self, point: dict[Term, Term]) -> tuple[Any, Any] | None:
        """Both values to many digits; nothing where they are not real."""
        truth = tuple(bool(c.subs(point)) for c in self.conditions)
        if truth not in self.compiled:
            chosen = [_selected(term, dict(zip(self.conditions, truth, strict=True))) for term in self.terms]
            self.compiled[truth] = chosen[0], sp.lambdify(self.symbols, [c.doit() for c in chosen], "mpmath")
        difference, function = self.compiled[truth]
        with mpmath.workdps(DIGITS):
            try:
                values = [mpmath.mpmathify(v) for v in function(*(mpmath.mpf(v.p) / v.q for v in point.values()))]
            except (ValueError, ZeroDivisionError, TypeError):
                return None
        if not all(isinstance(v, mpmath.mpf) and mpmath.isfinite(v) for v in values):
            return None
        self.met[truth] = difference
        return values[0], values[1]


def _unreduced(term: Term) -> Term:
    """A gradient before it was summed over broadcast dimensions."""
    return everywhere(term, lambda node: node.args[0] if node.func is total else node)


_AS_BRANCHES: dict[Any, Callable[..., Term]] = {
    f.absolute: lambda x: f.where(sp.Gt(x, 0), x, -x),
    sp.Abs: lambda x: f.where(sp.Gt(x, 0), x, -x),
    f.sign: lambda x: f.where(sp.Gt(x, 0), 1, -1),
    sp.sign: lambda x: f.where(sp.Gt(x, 0), 1, -1),
    f.clamp: lambda x, low, high: f.where(sp.Gt(x, high), high, f.where(sp.Gt(x, low), x, low)),
    f.maximum: lambda a, b: f.where(sp.Gt(a, b), a, b),
    f.minimum: lambda a, b: f.where(sp.Gt(a, b), b, a),
}


def _branched(term: Term) -> Term:
    """Kinks as conditions, all written ``… > 0``; what holds on a kink alone is left out."""

    def rule(node: Term) -> Term:
        if node.func in _AS_BRANCHES:
            return everywhere(_AS_BRANCHES[node.func](*node.args), rule)
        if isinstance(node, sp.core.relational.Relational):
            if isinstance(node, (sp.Eq, sp.Ne)):
                return sp.false if isinstance(node, sp.Eq) else sp.true
            above = node.lhs - node.rhs if isinstance(node, (sp.Gt, sp.Ge)) else node.rhs - node.lhs
            return _positive(sp.expand(above))
        return node

    return everywhere(term, rule)


def _positive(term: Term) -> Term:
    """``term > 0``, the same for a term and its negative."""
    if term.is_number:
        return sp.true if term > 0 else sp.false
    if term.could_extract_minus_sign():
        return sp.Not(sp.StrictGreaterThan(-term, 0, evaluate=False), evaluate=False)
    return sp.StrictGreaterThan(term, 0, evaluate=False)


def _conditions(term: Term) -> list[Term]:
    found = {r for choice in term.atoms(f.where) for r in choice.args[0].atoms(sp.core.relational.Relational)}
    return sorted(found, key=str)


def _selected(term: Term, truth: dict[Term, bool]) -> Term:
    """The expression in one branch."""
    decided = {cond: sp.true if holds else sp.false for cond, holds in truth.items()}

    def visit(node: Term) -> Term:
        if node.func is f.where:
            cond = node.args[0].subs(decided)
            return visit(node.args[1] if cond == sp.true else node.args[2])
        return node.func(*map(visit, node.args)) if node.args else node

    return visit(term)


def _points(branches: _Branches) -> Iterator[dict[Term, Term]]:
    """Random points, near and far and on both sides of every number in a condition."""
    dice = random.Random(0)
    edges = [abs(n) for c in branches.conditions for n in c.atoms(sp.Number) if n.is_finite] or [sp.S.One]
    ordered = branches.symbols
    for at in range(_POINTS):
        reach = (1.0, 3.0, 0.1, 10.0)[at % 4]
        draw = [dice.uniform(-reach, reach) if at % 3 else dice.uniform(0.05, 0.95) for _ in ordered]
        if at % 4 == 0:
            edge = float(dice.choice(edges))
            draw = [d if dice.random() < 0.5 else dice.choice((-1, 1)) * edge + dice.uniform(-0.2, 0.2) for d in draw]
        yield {s: sp.Rational(round(d * 10**6), 10**6) for s, d in zip(ordered, draw, strict=True)}


_SIMPLE_ENOUGH = 80


def _is_zero(term: Term) -> bool:
    """Whether an expression without branches vanishes identically."""
    plain = term.doit().rewrite(sp.exp).replace(sp.erfc, lambda u: 1 - sp.erf(u))
    for form in (lambda t: t, sp.together, lambda t: sp.expand_log(sp.together(t), force=True)):
        if sp.expand(sp.numer(sp.together(sp.expand(form(plain), power_exp=False))), power_exp=False) == 0:
            return True
    return bool(plain.count_ops() < _SIMPLE_ENOUGH and sp.simplify(plain) == 0)
