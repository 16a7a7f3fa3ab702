"""Is a hand-written backward right? Compared with the derived gradient branch by branch, else at random points.

*Proved*: the two are equal as expressions in every branch met. *Tested*: they agree to many digits wherever they were
evaluated. *Wrong*: there is a point where they differ, and the right formula.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import mpmath
import sympy as sp
import torch

from pullback.define.decorate import function_of
from pullback.errors import TraceError
from pullback.graph import functions as f
from pullback.graph.derive import differentiate, gradients
from pullback.graph.elements import Places, elements, size_of
from pullback.graph.extract import ancestors
from pullback.graph.formula import COTANGENT, OUT, Formula, symbol
from pullback.graph.functions import Term
from pullback.graph.joint import COTANGENT as _COTANGENT
from pullback.graph.joint import joint
from pullback.graph.printer import Printer
from pullback.graph.read import read, total
from pullback.graph.shown import shown
from pullback.graph.stable import everywhere, stable
from pullback.graph.trace import Trace, aten_name

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

    What computes element by element is judged for tensors of all sizes. Anything else is judged at a small size, at
    most a few elements along each dimension, with a symbol for each element: for all values, at that size.
    Arguments whose gradient is derived, or declared not to exist, are left out.

    Args:
        target: A Function or an autograd.Function with one output.
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
    meant = {name for name in traced.given if made is None or made.declared(name) is not None}
    found = _pointwise(traced)
    if found is not None:
        formula, theirs = found
        return {name: judge(formula, name, grad) for name, grad in theirs.items() if name in meant}
    judged = _not_pointwise(target, traced, inputs, meant)
    return {n: replace(j, formula=shown(target, n, inputs)) if j.verdict == "wrong" else j for n, j in judged.items()}


def _not_pointwise(target: Any, traced: Trace, inputs: tuple[Any, ...], meant: set[str]) -> dict[str, Judgement]:
    """Judge by elements: at a small size where that settles it, else at the size given."""
    small = _smaller(inputs)
    if any(a is not b for a, b in zip(small, inputs, strict=True)):
        try:
            judged = _by_element(joint(target, *small), meant)
        except Exception:  # it runs at other sizes only
            judged = {}
        if judged and all(j.verdict in ("proved", "tested") for j in judged.values()):  # else a size may be a number
            return judged
    return _by_element(traced, meant)


_DIMENSIONS = ("sum", "mean", "view", "reshape", "unsqueeze", "squeeze", "_unsafe_view")


def _pointwise(traced: Trace) -> tuple[Formula, dict[str, Term]] | None:
    """Formula and gradients of what computes element by element."""
    (end,) = traced.module.graph.find_nodes(op="output")
    if any(aten_name(node.target) in _DIMENSIONS for node in ancestors(end.args[0][:1])):
        return None
    try:
        out, *theirs = read(traced)
    except TraceError:
        return None
    whole = [_unreduced(grad) for grad in theirs]
    if any(grad.has(total) for grad in whole):
        return None
    formula = Formula(traced.name, traced.parameters, out, domain="real")
    return formula, dict(zip(formula.tensors, whole, strict=False))


def judge(formula: Formula, name: str, theirs: Term) -> Judgement:
    """Compare one gradient, an expression of the cotangent, with the derived one."""
    printer = Printer(formula, {OUT: "output", COTANGENT: "grad_output"})
    shown = printer(gradients(formula, [name])[name])
    verdict, point = _compared(theirs, COTANGENT * differentiate(stable(formula.out), symbol(name)))
    return Judgement(verdict, shown, point)


def _compared(theirs: Term, right: Term) -> tuple[str, dict[str, float]]:
    """The verdict on two gradients, and a point where they differ."""
    both = _Branches(_branched(theirs - right), _branched(right))
    agreed = 0
    for point in _points(both):
        values = both.at(point)
        if values is None:
            continue
        error, size = values
        if abs(error) > CLOSE * (1 + abs(size)):
            at = {k.name: float(v) for k, v in point.items() if k != COTANGENT}
            return "wrong", {**at, "theirs": float(size + error), "right": float(size)}
        agreed += 1
    if agreed < _ENOUGH:
        return "tested" if agreed else "unknown", {}
    return "proved" if all(map(_is_zero, both.met.values())) else "tested", {}


# element by element --------------------------------------------------------------------------------------------------

_DISTINCT = 32
"""How many elements of different form are compared; what has more is tested."""

_LONGEST = 3000
"""How many operations two gradients may have together that are compared."""


def _smaller(inputs: tuple[Any, ...]) -> list[Any]:
    """The inputs cut to two, three, … elements along their dimensions; different sizes stay different."""
    tensors = [value for value in inputs if isinstance(value, torch.Tensor)]
    sizes = sorted({n for tensor in tensors for n in tensor.shape if n > 1})
    cut = {n: 2 + at for at, n in enumerate(sizes)}
    if all(n == small for n, small in cut.items()):
        return list(inputs)
    return [
        v[tuple(slice(cut.get(n, n)) for n in v.shape)].clone() if isinstance(v, torch.Tensor) else v for v in inputs
    ]


def _by_element(traced: Trace, meant: set[str]) -> dict[str, Judgement]:
    """Judge each gradient by its elements."""
    (out, *theirs), symbols = elements(traced)
    tensors = [name for name, value in traced.given.items() if isinstance(value, torch.Tensor) and name != _COTANGENT]
    gradients = dict(zip(tensors, theirs, strict=False))
    weights = symbols.pop(_COTANGENT)
    loss = [(weights[place], value) for place, value in out.items()]
    return {
        name: _judged(loss, symbols[name], gradients.get(name, {}))
        for name in tensors
        if name in meant & symbols.keys()
    }


def _judged(loss: list[tuple[Term, Term]], symbols: Places, theirs: Places) -> Judgement:
    """Compare the gradients of one argument's elements; of those of one form the first."""
    summed = _summed(theirs, symbols)
    if summed is None:
        return Judgement("unknown", "")
    forms: dict[Term, tuple[Term, Term]] = {}
    for place, x in symbols.items():
        right = sp.Add(*(g * differentiate(value, x) for g, value in loss if x in value.free_symbols))
        forms.setdefault(_renamed(sp.Tuple(summed[place], right)), (summed[place], right))
    sizes: dict[Term, int] = {}
    verdicts = ["proved" if len(forms) <= _DISTINCT else "tested"]
    for pair in itertools.islice(forms.values(), _DISTINCT):
        verdict, point = _compared(*pair) if size_of(sp.Tuple(*pair), sizes) < _LONGEST else ("tested", {})
        if verdict == "wrong":
            return Judgement(verdict, "", point)
        verdicts.append(verdict)
    return Judgement(max(verdicts, key=["proved", "tested", "unknown"].index), "")


def _summed(theirs: Places, symbols: Places) -> Places | None:
    """A gradient in the shape of its argument, as PyTorch sums it; nothing where that cannot be."""
    gathered: dict[tuple[int, ...], list[Term]] = {place: [] for place in symbols}
    shape = [max(at) + 1 for at in zip(*symbols, strict=True)]
    for place, term in theirs.items():
        own = place[len(place) - len(shape) :]
        target = tuple(0 if n == 1 else at for at, n in zip(own, shape, strict=False))
        if len(own) != len(shape) or target not in gathered:
            return None
        gathered[target].append(term)
    return {place: sp.Add(*terms) for place, terms in gathered.items()}


def _renamed(terms: Term) -> Term:
    """The same for expressions that differ in the names of their symbols alone, in the same order."""
    ordered = sorted(terms.free_symbols, key=str)
    return terms.xreplace({x: sp.Symbol(f"s{at:04}", real=True) for at, x in enumerate(ordered)})


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
        self.above = sp.lambdify(self.symbols, [c.lhs.doit() for c in self.conditions], "mpmath")  # all are … > 0
        self.met: dict[tuple[bool, ...], Term] = {}
        self.compiled: dict[tuple[bool, ...], tuple[Term, Callable[..., Any]]] = {}

    def _branch(self, truth: tuple[bool, ...]) -> tuple[Term, Callable[..., Any]]:
        """The difference in one branch, and both terms there as a function of numbers."""
        if truth not in self.compiled:
            chosen = [_selected(term, dict(zip(self.conditions, truth, strict=True))) for term in self.terms]
            self.compiled[truth] = chosen[0], sp.lambdify(self.symbols, [c.doit() for c in chosen], "mpmath")
        return self.compiled[truth]

    def at(self, point: dict[Term, Term]) -> tuple[Any, Any] | None:
        """Both values to many digits; nothing where they are not real."""
        with mpmath.workdps(DIGITS):
            numbers = [mpmath.mpf(v.p) / v.q for v in point.values()]
            try:
                truth = tuple(above > 0 for above in self.above(*numbers))
                difference, function = self._branch(truth)
                values = [mpmath.mpmathify(v) for v in function(*numbers)]
            except (ValueError, ZeroDivisionError, TypeError):
                return None
        if not all(isinstance(v, mpmath.mpf) and mpmath.isfinite(v) for v in values):
            return None
        self.met[truth] = difference
        return values[0], values[1]


def _unreduced(term: Term) -> Term:
    """A gradient before it was summed over broadcast dimensions."""
    if term.is_Add or term.is_Mul:  # a sum of them, or one with a factor
        return term.func(*(_unreduced(a) if a.is_number is False or not term.is_Mul else a for a in term.args))
    return term.args[0] if term.func is total else term


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
                known = sp.false if isinstance(node, sp.Eq) else sp.true
                return node if node.has(f.where, *_AS_BRANCHES) else known  # a branch of one may be the other
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
    return sorted((r for r in found if not isinstance(r, (sp.Eq, sp.Ne))), key=str)


def _selected(term: Term, truth: dict[Term, bool]) -> Term:
    """The expression in one branch."""
    decided = {cond: sp.true if holds else sp.false for cond, holds in truth.items()}

    def visit(node: Term) -> Term:
        if node.func is f.where:
            cond = everywhere(node.args[0], lambda c: decided.get(c, c))
            cond = cond if cond in (sp.true, sp.false) else visit(cond)
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
    if _is_zero_fraction(plain):
        return True
    for form in (sp.together, lambda t: sp.expand_log(sp.together(t), force=True)):
        if sp.expand(sp.numer(sp.together(sp.expand(form(plain), power_exp=False))), power_exp=False) == 0:
            return True
    return bool(plain.count_ops() < _SIMPLE_ENOUGH and sp.simplify(plain) == 0)


def _is_zero_fraction(term: Term) -> bool:
    """Whether it is zero as a fraction of polynomials in its functions, where a root squared is what is under it."""
    if term == 0:
        return True
    try:
        powers = sp.expand_power_exp(term)
        field, _ = sp.sfield(powers)
        roots = [g for g in field.symbols if g.is_Pow and g.exp.is_Rational and not g.exp.is_Integer]
        field, value = sp.sfield(powers, *roots, *(g for g in field.symbols if g not in roots))
        relations = [(field(g) ** g.exp.q - field(g.base) ** g.exp.p).numer for g in roots]
    except (sp.PolynomialError, ValueError, TypeError):
        return False
    return bool((value.numer.rem(relations) if relations else value.numer) == 0)
