"""Functions of complex numbers that are not holomorphic: the conjugate, parts, absolute value and angle."""

from __future__ import annotations

from typing import ClassVar

import sympy as sp

from pullback.graph import functions as f
from pullback.graph.functions import Term, nonzero
from pullback.graph.reductions import Along


class Part(Along):
    """A function of one complex number that has no complex derivative."""

    nargs = 1
    template: ClassVar[str]

    def back(self, cotangent: Term) -> tuple[Term, ...]:
        """The conjugate of the argument's gradient, from that of the result's."""
        return (type(self).pull(cotangent, self.args[0], self),)


class conj(Part):  # noqa: N801 - spelled as in PyTorch
    """The complex conjugate."""

    template = "{}.conj()"
    is_real = None  # type: ignore[assignment] # as SymPy says that it does not know
    pull = staticmethod(lambda g, u, out: conj(g))

    @classmethod
    def eval(cls, u: Term) -> Term:
        """Numbers are known, twice is nothing, and a sign goes outside, but not one of a sum's terms."""
        if u.func is conj:
            return u.args[0]
        negative = all(a.could_extract_minus_sign() for a in sp.Add.make_args(u))
        return sp.conjugate(u) if u.is_number else -conj(-u) if negative else None


class real(Part):  # noqa: N801
    """The real part."""

    template = "{}.real"
    pull = staticmethod(lambda g, u, out: real(g))


class imag(Part):  # noqa: N801
    """The imaginary part."""

    template = "{}.imag"
    pull = staticmethod(lambda g, u, out: -sp.I * real(g))


class modulus(Part):  # noqa: N801
    """The absolute value; its slope is zero at zero."""

    template = "torch.abs({})"
    is_nonnegative = True
    pull = staticmethod(lambda g, u, out: real(g) * conj(f.sgn(u)))


class squared_modulus(Part):  # noqa: N801
    """The square of the absolute value."""

    template = "torch.abs({}) ** 2"
    is_nonnegative = True
    pull = staticmethod(lambda g, u, out: 2 * real(g) * conj(u))


class real_valued(Part):  # noqa: N801
    """What is certainly real, because PyTorch demands it."""

    template = "{}"
    pull = staticmethod(lambda g, u, out: real(g))


class angle(Part):  # noqa: N801
    """The argument of a complex number; its slope is zero at zero."""

    template = "torch.angle({})"
    pull = staticmethod(lambda g, u, out: real(g) * conj(sp.I * u / nonzero(squared_modulus(u))))
