"""What one function computes: its parameters and its output as a SymPy expression."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import sympy as sp

from pullback.graph.functions import Term
from pullback.graph.reductions import sizeless

COTANGENT = sp.Dummy("g", real=True)
"""The gradient of the loss with respect to the output."""

OUT = sp.Dummy("out", real=True)
"""The output, where a gradient is written with it."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of the function.

    Args:
        name: As the function's author calls it.
        kind: ``tensor`` (takes a gradient), ``number`` (a Python number) or ``mask`` (a boolean tensor).
        default: The text of its default value, or nothing.
        keyword_only: Whether it must be given by name.
    """

    name: str
    kind: str = "tensor"
    default: str = ""
    keyword_only: bool = False

    @property
    def symbol(self) -> Term:
        """The parameter in SymPy."""
        return symbol(self.name)


@dataclass(frozen=True)
class Formula:
    """A function of tensors and numbers with one output.

    Args:
        name: What the function is called.
        parameters: In order.
        out: The output as a SymPy expression of the parameters.
        body: The function's own statements, ready to paste; the last one returns the output.
        named: What its author calls the intermediate results.
        domain: ``complex`` or ``real`` where its author says so of the arguments, else ``any``.
        real: The parameters that go into functions which only real tensors have.
    """

    name: str
    parameters: tuple[Parameter, ...]
    out: Term
    body: tuple[str, ...] = ()
    named: dict[Term, str] = field(default_factory=dict)
    domain: str = "any"
    real: frozenset[Term] = frozenset()

    @cached_property
    def tensors(self) -> tuple[str, ...]:
        """The parameters that take gradients."""
        return tuple(p.name for p in self.parameters if p.kind == "tensor")

    @cached_property
    def numbers(self) -> frozenset[Term]:
        """The symbols of parameters that are Python numbers."""
        return frozenset(p.symbol for p in self.parameters if p.kind == "number")

    @cached_property
    def derived(self) -> dict[str, Term]:
        """The gradients that were derived so far."""
        return {}

    def is_tensor(self, term: Term) -> bool:
        """Whether an expression is a tensor when the function runs, rather than a Python number."""
        return not sizeless(term).free_symbols <= self.numbers


def symbol(name: str) -> Term:
    """The SymPy symbol of an argument."""
    return sp.Symbol(name, real=True)


_ROOTS = (2, 3, sp.pi, 2 * sp.pi, sp.pi / 2, 2 / sp.pi)
_FRACTIONS = ((1, 3), (2, 3), (1, 6), (1, 7), (1, 9), (1, 12))
_LANDMARKS = (
    *(
        scale * sp.sqrt(number) ** power
        for number in _ROOTS
        for power in (1, -1)
        for scale in (1, 2, sp.Rational(1, 2))
    ),
    *(sp.pi * factor for factor in (1, 2, sp.Rational(1, 2), sp.Rational(1, 180))),
    *(sp.log(number) ** power for number in (2, 10) for power in (1, -1)),
    *(sp.log(number) * factor for number in (sp.pi, 2 * sp.pi) for factor in (1, sp.Rational(1, 2))),
    *(sp.Rational(*fraction) for fraction in _FRACTIONS),
    *(1 / sp.pi, 180 / sp.pi, sp.E),
)
_ROUNDING = 4e-16
_KNOWN = {float(c): c for c in _LANDMARKS}


def exact(number: float) -> Term:
    """The number its author meant: ``0.1`` is a tenth, ``0.7071067811865476`` is the root of a half.

    >>> exact(0.1), exact(0.7071067811865476), exact(3.0)
    (1/10, sqrt(2)/2, 3)
    """
    if isinstance(number, int) or not math.isfinite(number):
        return sp.sympify(number)
    known = next((c for value, c in _KNOWN.items() if abs(abs(number) - value) <= _ROUNDING * value), None)
    return sp.Rational(repr(number)) if known is None else known if number > 0 else -known
