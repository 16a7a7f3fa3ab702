"""Operations along dimensions: sums, means, softmax and their like, and how a cotangent goes back through each.

A row's *pull* takes the cotangent of the result, the operand, the result and the dimensions, and gives the cotangent of
the operand. What is not pointwise in it is written with the helpers below, which only move or sum dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import sympy as sp

from pullback.graph.functions import Term, absolute, clamp, where

WHOLE = sp.Tuple()
"""All dimensions."""

_MINUS_INFINITY = sp.Dummy("-math.inf", real=True)
"""A number to compare with; SymPy would say that nothing real equals it."""


class Along(sp.Function):  # type: ignore[misc] # SymPy is untyped
    """An operation along dimensions: operand, dimensions, and whether they stay with size one."""

    nargs: ClassVar[int | None] = 3
    is_real = True
    python: ClassVar[str] = ""
    pull: ClassVar[Callable[..., Term]]

    def _eval_is_nonnegative(self) -> Any:
        return self.args[0].is_nonnegative if type(self) in (Summed, Mean) else None

    @property
    def operands(self) -> tuple[Term, ...]:
        """What it is applied to."""
        return (self.args[0],)

    @property
    def broadcasts(self) -> bool:
        """Whether what goes back can be larger than the operand."""
        return False

    def back(self, cotangent: Term) -> tuple[Term, ...]:
        """The cotangent of each operand."""
        return (type(self).pull(cotangent, *self.args, self),)


class spread(sp.Function):  # type: ignore[misc] # noqa: N801 - printed in lower case
    """A result with its dimensions back, of size one: result, dimensions, whether they had stayed."""

    is_real = True

    @classmethod
    def eval(cls, result: Term, dims: Term, kept: Term) -> Term:
        """Nothing to do where they had stayed, or where a scalar fits anything."""
        return result if kept == 1 or dims == WHOLE or result.is_number else None


class summed_to(sp.Function):  # type: ignore[misc] # noqa: N801
    """The first argument summed over what broadcasting added to the second."""

    is_real = True


class shaped_as(sp.Function):  # type: ignore[misc] # noqa: N801
    """The first argument, broadcast against the second."""

    is_real = True


class count(sp.Function):  # type: ignore[misc] # noqa: N801
    """How many elements an operand has along dimensions."""

    is_positive = True

    def fdiff(self, argindex: int = 1) -> Term:
        """Sizes do not depend on values."""
        return sp.S.Zero


def sizeless(term: Term) -> Term:
    """A term with a number for each number of elements, so that its symbols are those whose values it needs.

    The number is one that no size is less or more by a whole: ``1 / (count(x) - 1)`` stays what it is.
    """
    return term.replace(lambda t: t.func is count, lambda t: sp.EulerGamma) if term.has(count) else term


SHAPES = (spread, summed_to, shaped_as, count)
"""The helpers above."""


class Summed(Along):
    """The sum."""

    python = "torch.sum"
    pull = staticmethod(lambda g, u, dims, kept, out: spread(g, dims, kept))


class Mean(Along):
    """The mean."""

    python = "torch.mean"
    pull = staticmethod(lambda g, u, dims, kept, out: spread(g, dims, kept) / count(u, dims))


class LogSumExp(Along):
    """The logarithm of the sum of exponentials; where all are minus infinity, nothing goes back."""

    python = "torch.logsumexp"

    @staticmethod
    def pull(g: Term, u: Term, dims: Term, kept: Term, out: Term) -> Term:
        """The share of each in the sum."""
        whole = spread(out, dims, kept)
        return where(sp.Eq(whole, _MINUS_INFINITY), 0, spread(g, dims, kept) * sp.exp(u - whole))


class Softmax(Along):
    """The exponentials divided by their sum."""

    python = "torch.softmax"
    is_nonnegative = True
    pull = staticmethod(lambda g, u, dims, kept, out: out * (g - Summed(g * out, dims, sp.S.One)))


class LogSoftmax(Along):
    """The logarithm of softmax."""

    python = "torch.log_softmax"
    pull = staticmethod(lambda g, u, dims, kept, out: g - sp.exp(out) * Summed(g, dims, sp.S.One))


def _to_extreme(g: Term, u: Term, dims: Term, kept: Term, out: Term) -> Term:
    """Shared evenly among the extreme elements, as in PyTorch."""
    here = where(sp.Eq(u, spread(out, dims, kept)), shaped_as(spread(g, dims, kept), u), 0)
    number = Summed(where(sp.Eq(u, spread(out, dims, kept)), sp.S.One, sp.S.Zero), dims, sp.S.One)
    return here / number


class Amax(Along):
    """The largest element."""

    python = "torch.amax"
    pull = staticmethod(_to_extreme)


class Amin(Along):
    """The smallest element."""

    python = "torch.amin"
    pull = staticmethod(_to_extreme)


def _dims(dim: Any) -> Term:
    return WHOLE if dim is None else sp.Tuple(*dim) if isinstance(dim, tuple) else sp.Tuple(dim)


def _along(kind: Any) -> Callable[..., Term]:
    def build(x: Term, dim: Any = None, keepdim: bool = False) -> Term:
        return kind(x, _dims(dim), sp.Integer(bool(keepdim)))

    return build


def _norm(x: Term, p: Any = 2, dim: Any = None, keepdim: bool = False, ord: Any = None) -> Term:  # noqa: A002
    p = p if ord is None else ord
    if p in (2, "fro", None):
        return sp.sqrt(_sum(absolute(x) ** 2, dim, keepdim))
    if p == sp.oo:
        return _along(Amax)(absolute(x), dim, keepdim)
    return _sum(absolute(x) ** p, dim, keepdim) ** (1 / sp.sympify(p))


def _vector_norm(x: Term, ord: Any = 2, dim: Any = None, keepdim: bool = False) -> Term:  # noqa: A002 - PyTorch's name
    return _norm(x, ord, dim, keepdim)


def _variance(x: Term, dim: Any = None, unbiased: bool = True, keepdim: bool = False, correction: Any = None) -> Term:
    less = (1 if unbiased else 0) if correction is None else correction
    return _sum(absolute(x - _mean(x, dim, True)) ** 2, dim, keepdim) / (count(x, _dims(dim)) - less)


def _deviation(x: Term, *args: Any, **options: Any) -> Term:
    return sp.sqrt(_variance(x, *args, **options))


def _same_shape(kind: Any) -> Callable[..., Term]:
    return lambda x, dim: kind(x, _dims(dim), sp.S.One)


def _normalize(x: Term, p: Any = 2, dim: Any = 1, eps: Term = sp.Rational(1, 10**12)) -> Term:  # noqa: B008 - immutable
    return x / clamp(_norm(x, p, dim, True), eps, sp.oo)


def _loss(pointwise: Callable[[Term, Term], Term]) -> Callable[..., Term]:
    def build(x: Term, target: Term, reduction: str = "mean") -> Term:
        each = pointwise(x, target)
        return {"mean": _mean, "sum": _sum, "none": lambda u: u}[reduction](each)

    return build


_sum, _mean = _along(Summed), _along(Mean)

REDUCTIONS: dict[str, tuple[str, Callable[..., Term]]] = {
    "sum": ("torch.sum", _sum),
    "mean": ("torch.mean", _mean),
    "logsumexp": ("torch.logsumexp", _along(LogSumExp)),
    "amax": ("torch.amax", _along(Amax)),
    "amin": ("torch.amin", _along(Amin)),
    "softmax": ("torch.softmax", _same_shape(Softmax)),
    "log_softmax": ("torch.log_softmax", _same_shape(LogSoftmax)),
    "norm": ("torch.norm", _norm),
    "vector_norm": ("torch.linalg.vector_norm", _vector_norm),
    "var": ("torch.var", _variance),
    "std": ("torch.std", _deviation),
    "dot": ("torch.dot", lambda x, y: _sum(x * y)),
    "dist": ("torch.dist", lambda x, y, p=2: _norm(x - y, p)),
    "normalize": ("torch.nn.functional.normalize", _normalize),
    "mse_loss": ("torch.nn.functional.mse_loss", _loss(lambda x, y: (x - y) ** 2)),
    "l1_loss": ("torch.nn.functional.l1_loss", _loss(lambda x, y: abs(x - y))),
}
"""How formulas call them, how that is spelled in full, and what it means."""
