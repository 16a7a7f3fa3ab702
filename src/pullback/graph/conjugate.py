"""Gradients in PyTorch's convention for complex tensors.

PyTorch's gradient of a holomorphic function is the cotangent times the *conjugate* of the derivative. Rules are derived
for the conjugates of gradients, which go back through derivatives as real ones do; `conjugated` turns the result back.
Of a real tensor the conjugate is the tensor itself, so the same code serves both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sympy as sp
from sympy.core.symbol import Str

from pullback.graph import functions as f
from pullback.graph.complexes import angle, conj, imag, modulus, real, real_valued, squared_modulus
from pullback.graph.formula import COTANGENT, OUT, Formula, symbol
from pullback.graph.functions import Term, nonzero, where
from pullback.graph.moved import Moved, moved
from pullback.graph.reductions import SHAPES, WHOLE, Along, LogSumExp, Mean, Summed, count
from pullback.graph.stable import everywhere
from pullback.graph.structure import ATTRIBUTES, Prod, of_complex

_REAL = (real, imag, real_valued, modulus, squared_modulus, angle, count)
_HOLOMORPHIC = (
    sp.Add, sp.Mul, sp.Pow, sp.exp, sp.log, sp.sin, sp.cos, sp.tan, sp.asin, sp.acos, sp.atan, sp.sinh, sp.cosh,
    sp.tanh, sp.asinh, sp.acosh, sp.atanh, sp.Tuple, sp.Eq, sp.Ne, f.sigmoid, f.expm1, f.log1p, f.logit, f.sinc, where,
    f.detach, f.logaddexp, Summed, Mean, LogSumExp, Prod, Moved, conj, f.sgn, *SHAPES,
)  # fmt: skip


@dataclass(frozen=True)
class Kinds:
    """Which symbols of a formula may be complex: those that meet no function of real numbers alone.

    Args:
        free: The symbols.
        mixed: Those whose absolute value is taken, and that are used otherwise, where nothing says that they are
            complex. The gradient is that of real tensors.
    """

    free: frozenset[Term]
    mixed: frozenset[Term]

    def certainly_real(self, term: Term) -> bool:
        """Whether an expression is real whatever the arguments are."""
        if isinstance(term, _REAL) or (isinstance(term, Moved) and term.is_constant_of_real):
            return True
        if not term.args:
            return term not in self.free and term is not sp.I
        return all(map(self.certainly_real, term.args))


def prepared(formula: Formula) -> tuple[Term, Kinds]:
    """The output with what complex arguments need told from what real ones need."""
    out, tensors = formula.out, frozenset(map(symbol, formula.tensors))
    free = frozenset() if formula.domain == "real" else tensors - formula.real - _of_real_numbers(out)
    outside = _outside_absolutes(out)
    evident = formula.domain == "complex" or is_complex(out)
    mixed = frozenset() if evident else _within_absolutes(out) & outside & free
    kinds = Kinds(free - mixed, mixed)

    def rule(node: Term) -> Term:
        if isinstance(node, (conj, real)) and kinds.certainly_real(node.args[0]):
            return node.args[0]
        if _is_square(node):
            u = node.base.args[0]
            return (u**2 if kinds.certainly_real(u) else squared_modulus(u)) ** (node.exp / 2)
        if node.func in (f.absolute, f.sgn) and not kinds.certainly_real(node.args[0]):
            u = node.args[0]
            return modulus(u) if node.func is f.absolute else u / nonzero(modulus(u))
        return f.sign(*node.args) if node.func is f.sgn else node

    return everywhere(out, rule), kinds


def is_complex(out: Term) -> bool:
    """Whether a formula shows that some of its arguments or results are complex."""
    return bool(out.has(real, imag, angle, conj, modulus, sp.I))


def _of_real_numbers(out: Term) -> frozenset[Term]:
    """The symbols that meet a function which complex numbers do not have."""
    met: set[Term] = set()

    def visit(node: Term, within: bool) -> None:
        if node.is_Symbol and within:
            met.add(node)
        inner = within or not isinstance(node, (*_HOLOMORPHIC, f.absolute, *_REAL)) or getattr(node, "compares", False)
        for arg in node.args:
            visit(arg, inner and not isinstance(node, (*_REAL, f.absolute)))

    visit(out, False)
    return frozenset(met)


def _within_absolutes(out: Term) -> frozenset[Term]:
    """The symbols of odd powers of absolute values."""
    even = {p: sp.S.One for p in out.atoms(sp.Pow) if _is_square(p)}
    found = out.xreplace(even).atoms(f.absolute, sp.Abs, f.sgn)
    return frozenset().union(*(a.free_symbols for a in found))


def _is_square(node: Term) -> bool:
    return bool(node.is_Pow and node.base.func is f.absolute and node.exp.is_Integer and node.exp % 2 == 0)


def _outside_absolutes(out: Term) -> frozenset[Term]:
    if out.func in (f.absolute, f.sgn):
        return frozenset()
    return frozenset([out]) if out.is_Symbol else frozenset().union(*map(_outside_absolutes, out.args))


def conjugated(grad: Term, x: Term, out: Term, kinds: Kinds, domain: str = "any") -> Term:
    """The gradient of an argument, derived as for real tensors, in PyTorch's convention for complex ones.

    >>> x = sp.Symbol("x", real=True)
    >>> conjugated(COTANGENT * x, x, x**2, Kinds(frozenset([x]), frozenset())) == COTANGENT * conj(x)
    True
    """
    if not kinds.free and not is_complex(out):
        return grad
    cotangents = set() if kinds.certainly_real(out) else {COTANGENT, OUT}
    seen = Kinds(kinds.free | cotangents, kinds.mixed)
    found = _Conjugation(seen, domain == "complex" or is_complex(out)).visit(grad)
    of_real = x not in kinds.free and is_complex(out) and not seen.certainly_real(found)
    return real(found) if of_real else found


@dataclass(frozen=True)
class _Conjugation:
    """Gradients turned back, where it may be evident that there are complex numbers."""

    kinds: Kinds
    evident: bool

    def visit(self, term: Term) -> Term:
        """What goes back: linear in the cotangent, which stays; the rest becomes its conjugate."""
        if COTANGENT not in term.free_symbols:
            return self.bar(term)
        if term == COTANGENT:
            return term
        if term.func is where:
            return where(term.args[0], *map(self.visit, term.args[1:]))
        if term.is_Mul:
            carriers = [a for a in term.args if COTANGENT in a.free_symbols]
            rest = sp.Mul(*(a for a in term.args if a not in carriers))
            return sp.Mul(*map(self.visit, carriers)) * self.bar(rest)
        if isinstance(term, Moved):
            return self.moved(term)
        if isinstance(term, (real, conj)):
            inner = self.visit(term.args[0])
            return inner if self.kinds.certainly_real(inner) else self.split(term.func, inner)
        of_shape = isinstance(term, (Along, *SHAPES))  # beside the first there are dimensions, or what has a shape
        return term.func(*(a if of_shape and COTANGENT not in a.free_symbols else self.visit(a) for a in term.args))

    def split(self, part: Any, term: Term) -> Term:
        """A part of a product, whose real factors stay outside."""
        factors = sp.Mul.make_args(term)
        outside = [a for a in factors if self.kinds.certainly_real(a)]
        inside = sp.Mul(*(a for a in factors if a not in outside))
        return sp.Mul(*outside) * part(inside)

    def moved(self, term: Moved) -> Term:
        """Operands whose values count."""
        values = {at for at in range(len(term.operands)) if f"{{{at}}}" in term.template}
        if "torch.func.vjp" in term.template:  # PyTorch's own: in its convention already
            values = {at for at, u in enumerate(term.operands) if COTANGENT in u.free_symbols}
        operands = [self.visit(u) if at in values else u for at, u in enumerate(term.operands)]
        other = next((u for u in operands if not self.kinds.certainly_real(u)), None)
        if other is not None:  # PyTorch multiplies no real matrix with a complex one
            operands = [
                moved("{0}.to({like1}.dtype)", [], [u, other])
                if COTANGENT in u.free_symbols and self.kinds.certainly_real(u)
                else u
                for u in operands
            ]
        template = of_complex(term.template) if self.evident and other is not None else term.template
        return Moved(Str(template), *term.args[1:3], *operands)

    def bar(self, term: Term) -> Term:
        """The conjugate of what has no cotangent in it."""
        if self.kinds.certainly_real(term):
            return term
        if isinstance(term, sp.Mul):
            return self.product(term.args)
        if term.func is where:
            return where(term.args[0], *map(self.bar, term.args[1:]))
        if term.is_Add and all(isinstance(sp.Mul.make_args(a)[-1], conj) for a in term.args):
            return sp.Add(*map(self.bar, term.args))
        return conj(term)

    def product(self, factors: Any) -> Term:
        """Real factors stay, conjugates lose theirs, and the others are joined in one."""
        apart = [a for a in factors if self.kinds.certainly_real(a) or a.is_number or a.func in (conj, where)]
        rest = sp.Mul(*(a for a in factors if a not in apart))
        kept = (sp.conjugate(a) if a.is_number else self.bar(a) for a in apart)
        return sp.Mul(*kept) * (rest if rest == 1 else conj(rest))


def _complex(real: Term, imag: Term) -> Term:
    return real_valued(real) + sp.I * real_valued(imag)


def _polar(abs: Term, angle: Term) -> Term:  # noqa: A002 - PyTorch's names
    return real_valued(abs) * sp.exp(sp.I * real_valued(angle))


COMPLEX: dict[str, tuple[str, Callable[..., Term]]] = {
    "conj": ("torch.conj", conj),
    "conj_physical": ("torch.conj_physical", conj),
    "resolve_conj": ("torch.resolve_conj", lambda z: z),
    "real": ("torch.real", real),
    "imag": ("torch.imag", imag),
    "angle": ("torch.angle", angle),
    "adjoint": ("torch.adjoint", lambda z: conj(ATTRIBUTES["mT"](z))),
    "complex": ("torch.complex", _complex),
    "polar": ("torch.polar", _polar),
    "vdot": ("torch.vdot", lambda x, y: Summed(conj(x) * y, WHOLE, sp.S.Zero)),
    "vecdot": ("torch.linalg.vecdot", lambda x, y, dim=-1: Summed(conj(x) * y, sp.Tuple(dim), sp.S.Zero)),
}
"""How formulas call them, how that is spelled in full, and what it means."""

PARTS: dict[str, Callable[[Term], Term]] = {
    "real": real,
    "imag": imag,
    "H": lambda z: conj(ATTRIBUTES["T"](z)),
    "mH": lambda z: conj(ATTRIBUTES["mT"](z)),
}
"""Attributes of complex tensors."""
