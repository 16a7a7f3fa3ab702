"""The gradient of each argument: differentiated term by term, made stable, written with the output if that is less."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import sympy as sp

from pullback.graph.branches import gather, guard
from pullback.graph.formula import COTANGENT, OUT, Formula, symbol
from pullback.graph.functions import Term, nonzero, where
from pullback.graph.stable import powers_of, stable


def gradients(formula: Formula, names: Iterable[str] | None = None) -> dict[str, Term]:
    """The gradient of the loss with respect to each tensor argument, as an expression of the cotangent.

    Args:
        formula: What the function computes.
        names: The arguments asked for; all that take gradients by default.

    >>> from pullback.graph.parse import parse
    >>> gradients(parse("torch.exp(b * x)"))["x"].free_symbols == {COTANGENT, OUT, symbol("b")}
    True
    """
    out = stable(formula.out)
    wanted = formula.tensors if names is None else tuple(names)
    return {name: _gradient(formula, out, symbol(name)) for name in wanted}


def _gradient(formula: Formula, out: Term, x: Term) -> Term:
    partial = simplest(stable(differentiate(out, x)))
    grad = gather(COTANGENT * gather(partial, formula.is_tensor), formula.is_tensor)
    return guard(with_output(grad, formula, out), formula.is_tensor)


def differentiate(term: Term, x: Term) -> Term:
    """The partial derivative, never infinite by zero where the true one is finite.

    >>> x = sp.Symbol("x", real=True)
    >>> differentiate(sp.sin(x) ** 2, x)
    2*sin(x)*cos(x)
    """
    done: dict[Term, Term] = {}

    def visit(node: Term) -> Term:
        if node == x:
            return sp.S.One
        if x not in node.free_symbols:
            return sp.S.Zero
        if node not in done:
            done[node] = _step(node, visit)
        return done[node]

    return visit(term)


def _step(node: Term, d: Callable[[Term], Term]) -> Term:
    if node.func is sp.Add:
        return sp.Add(*map(d, node.args))
    if node.func is sp.Mul:
        args = node.args
        return sp.Add(*(sp.Mul(d(a), *args[:i], *args[i + 1 :]) for i, a in enumerate(args)))
    if node.func is sp.Pow:
        return _power(node, d(node.base), d(node.exp))
    if node.func is where:
        return where(node.args[0], d(node.args[1]), d(node.args[2]))
    if node.func is sp.Abs:
        return sp.sign(node.args[0]) * d(node.args[0])
    slopes = ((i, d(a)) for i, a in enumerate(node.args, start=1))
    return sp.Add(*(node.fdiff(i) * slope for i, slope in slopes if slope != 0))


def _power(node: Term, base_slope: Term, exponent_slope: Term) -> Term:
    """``u**p``; a root of something that cannot be negative has slope zero where that is zero."""
    u, p = node.args
    total = sp.S.Zero
    if base_slope != 0:
        touching = p.is_number and 0 < p < 1 and u.is_nonnegative and not u.is_Symbol
        slope = p * nonzero(node) ** ((p - 1) / p) if touching else p * u ** (p - 1)
        total += base_slope * (slope if p.is_number else where(sp.Eq(p, 0), 0, slope))
    if exponent_slope != 0:
        slope = node * sp.log(u)
        total += exponent_slope * (slope if u.is_positive else where(sp.Eq(u, 0), 0, slope))
    return total


def simplest(term: Term) -> Term:
    """The shortest of a few equivalent forms; never expanded, so no new cancellation."""
    if term.has(where):
        return term.func(*map(simplest, term.args)) if term.args and not _is_condition(term) else term
    forms = [term, sp.factor_terms(term)]
    best = min(forms, key=lambda t: t.count_ops())
    whole = sp.factor_terms(sp.together(term))
    return whole if whole.count_ops() + _WORTH_JOINING <= best.count_ops() else best


_WORTH_JOINING = 3
"""Operations that a common denominator must save: it can overflow where the fractions do not."""


def _is_condition(term: Term) -> bool:
    return isinstance(term, sp.logic.boolalg.Boolean)


def with_output(grad: Term, formula: Formula, out: Term) -> Term:
    """Write a gradient with the output where that saves work, and either a tensor or a function."""
    if not out.args or "out" in {p.name for p in formula.parameters}:
        return grad
    reused = grad.subs(out, OUT) if out.is_Pow else grad.xreplace({out: OUT, -out: -OUT, 1 / out: 1 / OUT})
    if out.is_Mul and reused == grad:
        reused = _factored(grad, out)
    before, after = (sum(map(formula.is_tensor, t.free_symbols)) for t in (grad, reused))
    better = after <= before or _functions(reused) < _functions(grad)
    return reused if better and reused.count_ops() < grad.count_ops() else grad


def _functions(term: Term) -> int:
    """How many different functions, roots among them, an expression applies."""
    roots = [p for p in term.atoms(sp.Pow) if not p.exp.is_Integer]
    return len([a for a in term.atoms(sp.Function) if a.func is not where]) + len(roots)


def _factored(grad: Term, out: Term) -> Term:
    """A product written with the output, unless that would divide by something new."""
    quotient = grad / out
    old = powers_of(grad)
    safe = all(not power.is_negative or old.get(base, 0) == power for base, power in powers_of(quotient).items())
    return quotient * OUT if safe else grad
