"""The gradient of each argument: differentiated term by term, made stable, written with the output if that is less."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import sympy as sp

from pullback.graph.branches import gather, guard
from pullback.graph.conjugate import conjugated, prepared
from pullback.graph.formula import COTANGENT, OUT, Formula, symbol
from pullback.graph.functions import Term, nonzero, where
from pullback.graph.printer import fades
from pullback.graph.reductions import Along, Mean, Summed, shaped_as, sizeless, summed_to
from pullback.graph.stable import everywhere, powers_of, stable


def gradients(formula: Formula, names: Iterable[str] | None = None) -> dict[str, Term]:
    """The gradient of the loss with respect to each tensor argument, as an expression of the cotangent.

    Args:
        formula: What the function computes.
        names: The arguments asked for; all that take gradients by default.

    >>> from pullback.graph.parse import parse
    >>> gradients(parse("torch.exp(b * x)"))["x"].free_symbols == {COTANGENT, OUT, symbol("b")}
    True
    """
    wanted = formula.tensors if names is None else tuple(names)
    if missing := [name for name in wanted if name not in formula.derived]:
        formula.derived.update(_derived(formula, missing))
    return {name: formula.derived[name] for name in wanted}


def _derived(formula: Formula, wanted: Iterable[str]) -> dict[str, Term]:
    plain, kinds = prepared(formula)
    out = stable(plain)
    if out.has(Along):
        found = through(formula, out, wanted)
    else:
        found = {name: COTANGENT * slope(out, symbol(name)) for name in wanted}
    as_written = out == plain  # otherwise the output may overflow
    done = {name: finished(formula, out, grad, as_written) for name, grad in found.items()}
    return {name: conjugated(grad, symbol(name), out, kinds, formula.domain) for name, grad in done.items()}


def slope(term: Term, x: Term) -> Term:
    """The partial derivative in its simplest stable form."""
    return everywhere(simplest(stable(differentiate(term, x))), spread)


def finished(formula: Formula, out: Term, grad: Term, with_out: bool) -> Term:
    """A gradient with its branches gathered and guarded, written with the output where that is less."""
    grad = gather(grad, formula.is_tensor)
    return guard(with_output(grad, formula, out) if with_out else grad, formula.is_tensor)


def through(formula: Formula, out: Term, names: Iterable[str]) -> dict[str, Term]:
    """The gradients of a formula with operations along dimensions, from the output back through each of them."""
    inner = _in_order(out)
    stand_in = {n: sp.Dummy(_kind(n), real=True, nonnegative=n.is_nonnegative) for n in inner}
    original = {dummy: node for node, dummy in stand_in.items()}
    flat = {node: [_replaced(operand, stand_in) for operand in node.operands] for node in inner}
    above = _replaced(out, stand_in)
    cotangents: dict[Term, Term] = {}

    def parts(x: Term) -> list[Term]:
        """What reaches a symbol: from the output, and back through each operation that it goes into."""
        direct = COTANGENT * slope(above, x)
        direct = direct if direct == 0 or _alone(above, x) else summed_to(direct, x)
        back = [_returned(user, flat[user], cotangents[user], x) for user in inner if user in cotangents]
        return [part for part in (direct, *itertools.chain(*back)) if part != 0]

    for node in reversed(inner):
        cotangents[node] = sp.Add(*parts(stand_in[node]))
    return {name: _restored(sp.Add(*parts(symbol(name))), original) for name in names}


def _returned(user: Term, flat: list[Term], cotangent: Term, x: Term) -> list[Term]:
    """What goes back from one operation to a symbol, through each of its operands."""
    if cotangent == 0 or not any(x in operand.free_symbols for operand in flat):
        return []
    pairs = [(g, operand) for g, operand in zip(user.back(cotangent), flat, strict=True) if x in operand.free_symbols]
    return [_fitted(g * slope(operand, x), operand, x, user) for g, operand in pairs]


def _fitted(grad: Term, operand: Term, x: Term, user: Term) -> Term:
    """A gradient in the shape of what it belongs to: broadcast where it is smaller, summed where it is larger."""
    if grad == 0:
        return grad
    narrow = isinstance(user, (Summed, Mean)) and x not in sizeless(grad).free_symbols
    grad = shaped_as(grad, x) if narrow else grad
    return grad if _alone(operand, x) and not user.broadcasts else summed_to(grad, x)


_PRODUCT = "product"


def _kind(node: Term) -> str:
    return _PRODUCT if node.broadcasts else "part"


def _alone(term: Term, x: Term) -> bool:
    """Whether a term has the shape of a symbol; what is added to a product of matrices is taken for a bias."""
    if x.is_Dummy and x.name == _PRODUCT:
        bare = {t: x for t in term.atoms(sp.Add) if x in t.args and all(a.is_Symbol for a in t.args)}
        term = term.xreplace(bare)
    return bool(sizeless(term).free_symbols <= {x})


def _in_order(term: Term) -> list[Term]:
    """The operations along dimensions, each after those inside it."""
    found: list[Term] = []
    for node in sp.postorder_traversal(term):
        if isinstance(node, Along) and node not in found:
            found.append(node)
    return found


def _replaced(term: Term, stand_in: dict[Term, Term]) -> Term:
    """A term with its outermost operations along dimensions replaced by their symbols."""
    if term in stand_in:
        return stand_in[term]
    return term.func(*(_replaced(a, stand_in) for a in term.args)) if term.args else term


def _restored(term: Term, original: dict[Term, Term]) -> Term:
    while not original.keys().isdisjoint(term.free_symbols):
        term = term.xreplace(original)
    return term


def spread(node: Term) -> Term:
    """A polynomial beside a factor that fades is multiplied term by term: alone it may be infinite.

    >>> x = sp.Symbol("x", real=True)
    >>> spread(sp.exp(-x) * (1 + x**2))
    x**2*exp(-x) + exp(-x)
    """
    if not node.is_Mul or not any(map(fades, node.args)):
        return node
    for factor in node.args:
        if factor.is_Add and not fades(factor) and any(t.has(sp.Pow) and t.is_polynomial() for t in factor.args):
            fading = sp.Mul(*filter(fades, node.args))
            return node / (fading * factor) * sp.Add(*(fading * t for t in factor.args))
    return node


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
        if x not in node.free_symbols or _is_condition(node):
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
        touching = p.is_number and 0 < p < 1 and u.is_nonnegative and (u.is_Dummy or not u.is_Symbol)
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
    algebraic = out.is_Pow and abs(out.exp) in (1, sp.Rational(1, 2))
    reused = grad.subs(out, OUT) if algebraic else grad.xreplace({out: OUT, -out: -OUT, 1 / out: 1 / OUT})
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
