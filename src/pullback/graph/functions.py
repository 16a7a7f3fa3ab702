"""The pointwise functions that PyTorch has and SymPy lacks: partial derivatives and meaning, one row each.

All are real functions of real arguments. A row's *partials* are the derivatives with respect to each argument, in
a form that neither overflows nor divides zero by zero; its *meaning*, where there is one, is the definition in
SymPy's own functions, used to prove and to evaluate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import sympy as sp

Term = Any
"""A SymPy expression; SymPy is untyped."""


class Pointwise(sp.Function):  # type: ignore[misc] # SymPy is untyped
    """Base of the functions below."""

    is_real = True
    partials: ClassVar[tuple[Callable[..., Term], ...]] = ()
    meaning: ClassVar[Callable[..., Term] | None] = None

    def fdiff(self, argindex: int = 1) -> Term:
        """The derivative with respect to one argument, counted from one as SymPy does."""
        return type(self).partials[argindex - 1](*self.args)

    def doit(self, **hints: Any) -> Term:
        """The definition in SymPy's own functions."""
        meaning, args = type(self).meaning, [a.doit(**hints) for a in self.args]
        return meaning(*args) if meaning else self.func(*args)


def _row(name: str, *partials: Callable[..., Term], meaning: Callable[..., Term] | None = None, **extra: Any) -> Any:
    fields = {"partials": partials, "meaning": staticmethod(meaning) if meaning else None, "nargs": len(partials)}
    return type(name, (Pointwise,), {**fields, **extra})


class where(Pointwise):  # noqa: N801 - spelled as in PyTorch
    """``a`` where the condition holds and ``b`` elsewhere; the condition has no derivative."""

    nargs = 3

    @classmethod
    def eval(cls, cond: Term, a: Term, b: Term) -> Term:
        """Simplify what needs no condition."""
        if cond == sp.true or a == b:
            return a
        return b if cond == sp.false else None

    def _eval_is_nonnegative(self) -> Any:
        return (self.args[1].is_nonnegative and self.args[2].is_nonnegative) or None

    def doit(self, **hints: Any) -> Term:
        """The same as a SymPy Piecewise."""
        cond, a, b = (arg.doit(**hints) for arg in self.args)
        return sp.Piecewise((a, cond), (b, True))


class clamp(Pointwise):  # noqa: N801 - spelled as in PyTorch
    """``min(max(x, low), high)``; an absent bound is infinite. The edges belong to the inside, as in PyTorch."""

    nargs = 3
    partials = (
        lambda x, low, high: where(sp.And(sp.Ge(x, low), sp.Le(x, high)), 1, 0),
        lambda x, low, high: where(sp.And(sp.Lt(x, low), sp.Lt(low, high)), 1, 0),
        lambda x, low, high: where(sp.Or(sp.Gt(x, high), sp.Lt(high, low)), 1, 0),
    )
    meaning = staticmethod(lambda x, low, high: sp.Min(sp.Max(x, low), high))


class absolute(Pointwise):  # noqa: N801 - spelled as in PyTorch
    """The absolute value, with derivative zero at zero."""

    nargs = 1
    is_nonnegative = True
    partials = (lambda x: sign(x),)
    meaning = staticmethod(sp.Abs)

    @classmethod
    def eval(cls, x: Term) -> Term:
        """Drop what the absolute value does not change."""
        if x.is_nonnegative:
            return x
        return cls(-x) if x.is_number is False and x.could_extract_minus_sign() else -x if x.is_nonpositive else None


class Test(sp.logic.boolalg.BooleanFunction):  # type: ignore[misc] # SymPy is untyped
    """A condition on one number."""

    nargs = 1


class isnan(Test):  # noqa: N801 - spelled as in PyTorch
    """Whether it is not a number."""


class isinf(Test):  # noqa: N801
    """Whether it is infinite."""


class isfinite(Test):  # noqa: N801
    """Whether it is a finite number."""


def _log_ratio_share(a: Term, b: Term) -> Term:
    """The share of ``a`` in ``exp(a) + exp(b)``, also where both are the same infinity."""
    return where(_equal(a, b), sp.Rational(1, 2), sigmoid(a - b))


def _tie(a: Term, b: Term) -> Term:
    """One where ``a > b``, a half where they are equal: PyTorch's gradient of ``maximum``."""
    return where(_equal(a, b), sp.Rational(1, 2), where(sp.Gt(a, b), 1, 0))


def _equal(a: Term, b: Term) -> Term:
    """The same condition whichever way round."""
    return sp.Eq(*sorted((a, b), key=lambda t: (t.is_number, str(t))))


def nonzero(x: Term) -> Term:
    """``x``, and one where it is zero: a divisor for something that is zero there too."""
    return where(sp.Eq(x, 0), 1, x)


def _zero(*_: Term) -> Term:
    return sp.S.Zero


_TWO_OVER_ROOT_PI = 2 / sp.sqrt(sp.pi)

sigmoid: Any = _row(
    "sigmoid", lambda x: sigmoid(x) * (1 - sigmoid(x)), meaning=lambda x: 1 / (1 + sp.exp(-x)), is_positive=True
)
softplus: Any = _row("softplus", lambda x: sigmoid(x), meaning=lambda x: sp.log(1 + sp.exp(x)), is_positive=True)
expm1: Any = _row("expm1", lambda x: sp.exp(x), meaning=lambda x: sp.exp(x) - 1)
log1p: Any = _row("log1p", lambda x: 1 / (1 + x), meaning=lambda x: sp.log(1 + x))
logit: Any = _row("logit", lambda x: 1 / (x * (1 - x)), meaning=lambda x: sp.log(x / (1 - x)))
logaddexp: Any = _row(
    "logaddexp",
    lambda a, b: _log_ratio_share(a, b),
    lambda a, b: _log_ratio_share(b, a),
    meaning=lambda a, b: sp.log(sp.exp(a) + sp.exp(b)),
)
xlogy: Any = _row("xlogy", lambda x, y: sp.log(y), lambda x, y: x / y, meaning=lambda x, y: x * sp.log(y))
xlog1py: Any = _row("xlog1py", lambda x, y: log1p(y), lambda x, y: x / (1 + y), meaning=lambda x, y: x * sp.log(1 + y))
entr: Any = _row("entr", lambda x: -sp.log(x) - 1, meaning=lambda x: -x * sp.log(x))


class sgn(Pointwise):  # noqa: N801 - spelled as in PyTorch
    """A number divided by its absolute value, and zero at zero; of real ones the sign."""

    nargs = 1
    is_real = None  # type: ignore[assignment] # as SymPy says that it does not know
    partials = (_zero,)  # of real ones


detach: Any = _row("detach", _zero, meaning=lambda x: x)
sign: Any = _row("sign", _zero, meaning=sp.sign)
floor: Any = _row("floor", _zero, meaning=sp.floor)
ceil: Any = _row("ceil", _zero, meaning=sp.ceiling)
trunc: Any = _row("trunc", _zero, meaning=lambda x: sp.sign(x) * sp.floor(sp.Abs(x)))
rounded: Any = _row("rounded", _zero)
frac: Any = _row("frac", lambda x: sp.S.One, meaning=lambda x: x - sp.sign(x) * sp.floor(sp.Abs(x)))
heaviside: Any = _row("heaviside", _zero, lambda x, at_zero: where(sp.Eq(x, 0), 1, 0))
remainder: Any = _row(
    "remainder", lambda x, y: sp.S.One, lambda x, y: -floor(x / y), meaning=lambda x, y: x - y * sp.floor(x / y)
)

nan_to_num: Any = _row("nan_to_num", lambda x, nan: where(isfinite(x), 1, 0), _zero)

maximum: Any = _row("maximum", lambda a, b: _tie(a, b), lambda a, b: _tie(b, a), meaning=sp.Max)
minimum: Any = _row("minimum", lambda a, b: _tie(b, a), lambda a, b: _tie(a, b), meaning=sp.Min)
hypot: Any = _row(
    "hypot",
    lambda a, b: a / nonzero(hypot(a, b)),
    lambda a, b: b / nonzero(hypot(a, b)),
    meaning=lambda a, b: sp.sqrt(a**2 + b**2),
    is_nonnegative=True,
)
atan2: Any = _row(
    "atan2",
    lambda y, x: x / nonzero(x**2 + y**2),
    lambda y, x: -y / nonzero(x**2 + y**2),
    meaning=sp.atan2,
)

ndtr: Any = _row(
    "ndtr", lambda x: sp.exp(-(x**2) / 2) / sp.sqrt(2 * sp.pi), meaning=lambda x: sp.erfc(-x / sp.sqrt(2)) / 2
)
log_ndtr: Any = _row(
    "log_ndtr",
    lambda x: sp.sqrt(2 / sp.pi) / erfcx(-x / sp.sqrt(2)),
    meaning=lambda x: sp.log(sp.erfc(-x / sp.sqrt(2)) / 2),
)
ndtri: Any = _row(
    "ndtri",
    lambda x: sp.sqrt(2 * sp.pi) * sp.exp(ndtri(x) ** 2 / 2),
    meaning=lambda x: sp.sqrt(2) * sp.erfinv(2 * x - 1),
)
erfc: Any = _row("erfc", lambda x: -_TWO_OVER_ROOT_PI * sp.exp(-(x**2)), meaning=sp.erfc, is_positive=True)
erfcx: Any = _row("erfcx", lambda x: 2 * x * erfcx(x) - _TWO_OVER_ROOT_PI, meaning=lambda x: sp.exp(x**2) * sp.erfc(x))
lgamma: Any = _row("lgamma", lambda x: digamma(x), meaning=sp.loggamma)
digamma: Any = _row("digamma", lambda x: trigamma(x), meaning=sp.digamma)
trigamma: Any = _row("trigamma", lambda x: sp.polygamma(2, x), meaning=sp.trigamma)
sinc: Any = _row(
    "sinc",
    lambda x: where(sp.Eq(x, 0), 0, (sp.cos(sp.pi * x) - sinc(x)) / x),
    meaning=lambda x: sp.sin(sp.pi * x) / (sp.pi * x),
)
i0: Any = _row("i0", lambda x: i1(x), meaning=lambda x: sp.besseli(0, x), is_positive=True)
i1: Any = _row(
    "i1", lambda x: where(sp.Eq(x, 0), sp.Rational(1, 2), i0(x) - i1(x) / x), meaning=lambda x: sp.besseli(1, x)
)
i0e: Any = _row("i0e", lambda x: i1e(x) - sign(x) * i0e(x), meaning=lambda x: sp.exp(-sp.Abs(x)) * sp.besseli(0, x))
i1e: Any = _row(
    "i1e",
    lambda x: where(sp.Eq(x, 0), sp.Rational(1, 2), i0e(x) - i1e(x) * (sign(x) + 1 / x)),
    meaning=lambda x: sp.exp(-sp.Abs(x)) * sp.besseli(1, x),
)
