"""Forms that do not overflow: what an author writes with ``exp`` and ``log``, recognised for what it is.

Rewriting happens before and after differentiation and changes no meaning, only which numbers appear on the way.
"""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

from pullback.graph import functions as f
from pullback.graph.functions import Term


def stable(term: Term) -> Term:
    """The same expression without avoidable overflow, underflow or cancellation.

    >>> x = sp.Symbol("x", real=True)
    >>> stable(x / (1 + sp.exp(-x))), stable(sp.log(1 + sp.exp(x)))
    (x*sigmoid(x), softplus(x))
    """
    return everywhere(term, _rewrite)


def everywhere(term: Term, rule: Callable[[Term], Term]) -> Term:
    """Apply a rule to every subexpression, before and after its parts, each distinct one once."""
    done: dict[Term, Term] = {}

    def visit(node: Term) -> Term:
        if not node.args:
            return node
        if node not in done:
            whole = rule(node)
            args = [visit(a) for a in whole.args]
            same = all(a is b for a, b in zip(args, whole.args, strict=True))
            done[node] = whole if same else rule(whole.func(*args))
        return done[node]

    return visit(term)


def _rewrite(node: Term) -> Term:
    for rule in _RULES.get(node.func, ()):
        changed = rule(node)
        if changed != node:
            return _rewrite(changed)
    return node


def powers_of(node: Term) -> dict[Term, Term]:
    """The factors of a product with their exponents; ``exp(u)`` is a factor of its own."""
    found: dict[Term, Term] = {}
    for factor in sp.Mul.make_args(node):
        base, power = factor.args if factor.func is sp.Pow else (factor, sp.S.One)
        found[base] = found.get(base, 0) + power
    return found


# sums of two exponentials


def _pair(term: Term) -> tuple[Term, Term, Term, Term] | None:
    """``(c, u, d, v)`` when the term is ``c·exp(u) + d·exp(v)`` with numbers ``c`` and ``d``; ``v`` may be zero."""
    if term.func is f.expm1:
        return sp.S.One, term.args[0], sp.S.NegativeOne, sp.S.Zero
    if not isinstance(term, sp.Add) or len(term.args) != 2:
        return None
    found = []
    for part in term.args:
        factor, rest = part.as_coeff_Mul()
        if rest == 1 or (not rest.free_symbols and rest.func is not sp.exp):
            found.append((factor * rest, sp.S.Zero))
        elif rest.func is sp.exp:
            found.append((factor, rest.args[0]))
    if len(found) != 2 or all(v == 0 for _, v in found):
        return None
    (c, u), (d, v) = sorted(found, key=lambda p: p[1] == 0)
    return c, u, d, v


def _share(c: Term, u: Term, d: Term, v: Term) -> Term | None:
    """``c·exp(u) / (c·exp(u) + d·exp(v))``."""
    return f.sigmoid(sp.expand(u - v) + sp.log(c / d)) if (c / d).is_positive else None


def _ratio(node: Term) -> Term:
    """Ratios of exponentials become ``sigmoid`` and ``tanh``, or ratios that cannot be infinity by infinity."""
    powers = powers_of(node)
    for bottom, power in list(powers.items()):
        pair = _pair(bottom)
        if pair is None or not power.is_integer or not power.is_negative:
            continue
        for top in [t for t in powers if t != bottom and powers[t].is_positive]:
            new = _one_ratio(top, powers[top], pair, -power)
            if new is not None:
                return node / (top ** powers[top] * bottom**power) * new * bottom ** (power + _used(top, pair))
        c, u, d, v = pair
        share = _share(d, v, c, u)
        if v == 0 and share is not None:
            return node / bottom**power * (share / d) ** -power
        if v == 0 and c == -d:
            return node / bottom**power * (c * f.expm1(u)) ** power
    return node


def _used(top: Term, pair: tuple[Term, Term, Term, Term]) -> int:
    _, u, _, v = pair
    return (
        2 if v != 0 and top.func is sp.exp and sp.expand(top.args[0] - u - v) == 0 and top.args[0] not in (u, v) else 1
    )


def _one_ratio(top: Term, power: Term, pair: tuple[Term, Term, Term, Term], available: Term) -> Term | None:
    c, u, d, v = pair
    share = _share(c, u, d, v)
    if power != 1:
        return None
    if top.func is sp.exp:
        if top.args[0] in (u, v):
            first = top.args[0] == u
            if share is not None:
                return share / c if first else (1 - share) / d
            w = v - u if first else u - v
            return 1 / (c + d * sp.exp(w)) if first else 1 / (d + c * sp.exp(w))
        if v != 0 and share is not None and available >= 2 and sp.expand(top.args[0] - u - v) == 0:
            return share * (1 - share) / (c * d)
        return None
    other = _pair(top)
    if other is None or share is None or {other[1], other[3]} != {u, v}:
        return None
    a, b = (other[0], other[2]) if other[1] == u else (other[2], other[0])
    if sp.expand(a / c + b / d) == 0:
        return a / c * sp.tanh((sp.expand(u - v) + sp.log(c / d)) / 2)
    return b / d + (a / c - b / d) * share


def _hyperbolic(node: Term) -> Term:
    powers = powers_of(node)
    for base, power in list(powers.items()):
        if base.func is sp.cosh and power.is_negative and powers.get(sp.sinh(base.args[0]), 0) == -power:
            return node / (sp.sinh(base.args[0]) ** -power * base**power) * sp.tanh(base.args[0]) ** -power
    return node


def _absolute(node: Term) -> Term:
    powers = powers_of(node)
    for base in list(powers):
        if base.func is f.sign and powers.get(base.args[0], 0) == 1:
            return node / (base * base.args[0]) * f.absolute(base.args[0])
    return node


def _error_tail(node: Term) -> Term:
    """``exp(-u²) / erfc(u)`` is zero by zero in the tail; ``erfcx`` is their product."""
    powers = powers_of(node)
    for base, power in list(powers.items()):
        if power == -1 and base.func in _TAILS:
            u, scaled = _TAILS[base.func](base.args[0])
            for top in [t for t in powers if t.func is sp.exp and powers[t] == 1]:
                exponent = sp.expand(top.args[0] + u**2)
                if not sp.expand(top.args[0]).free_symbols <= exponent.free_symbols or exponent == 0:
                    return node * base / top * sp.exp(exponent) / scaled
    return node


_TAILS: dict[Term, Callable[[Term], tuple[Term, Term]]] = {
    f.erfc: lambda u: (u, f.erfcx(u)),
    f.ndtr: lambda u: (u / sp.sqrt(2), f.erfcx(-u / sp.sqrt(2)) / 2),
}


def _log(node: Term) -> Term:
    (inner,) = node.args
    pair = _pair(inner)
    if pair is not None:
        c, u, d, v = pair
        if not (c.is_positive and d.is_positive):
            return node
        if v == 0:
            return sp.log(d) + f.softplus(u + sp.log(c / d))
        if c == d and u == -v:
            return sp.log(2 * c) + sp.log(sp.cosh(u))
        return f.logaddexp(u + sp.log(c), v + sp.log(d))
    if inner.func is f.sigmoid:
        return -f.softplus(-inner.args[0])
    if isinstance(inner, sp.Add) and len(inner.args) == 2 and (1 - inner).func is f.sigmoid:
        return -f.softplus((1 - inner).args[0])
    exponentials = [a for a in sp.Mul.make_args(inner) if a.func is sp.exp]
    if exponentials:
        return sp.log(inner / sp.Mul(*exponentials)) + sp.Add(*[e.args[0] for e in exponentials])
    if inner.func is f.ndtr:
        return f.log_ndtr(inner.args[0])
    return node


def _log1p(node: Term) -> Term:
    (inner,) = node.args
    return f.softplus(inner.args[0]) if inner.func is sp.exp else node


def _cancellation(node: Term) -> Term:
    """``1 - erf(u)`` and ``exp(u) - 1`` lose their digits; ``erfc(u)`` and ``expm1(u)`` keep them."""
    constant, rest = node.as_coeff_Add()
    if constant == 0:
        return node
    for part in sp.Add.make_args(rest):
        factor, function = part.as_coeff_Mul()
        if function.func is sp.erf and abs(factor) == abs(constant):
            u = function.args[0]
            return node - constant - part + constant * f.erfc(u if factor == -constant else -u)
        if function.func is sp.exp and factor == -constant:
            return node - constant - part + factor * f.expm1(function.args[0])
    return node


_RULES: dict[Term, tuple[Callable[[Term], Term], ...]] = {
    sp.Mul: (_ratio, _hyperbolic, _error_tail, _absolute),
    sp.Pow: (_ratio,),
    sp.log: (_log,),
    f.log1p: (_log1p,),
    sp.Add: (_cancellation,),
}
