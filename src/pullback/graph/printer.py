"""SymPy to readable Python: operations spelled by the ops table, numbers as their author would write them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import sympy as sp

from pullback.graph.complexes import Part, modulus, squared_modulus
from pullback.graph.formula import COTANGENT, OUT, Formula
from pullback.graph.functions import Term, Test, absolute, clamp, sigmoid, where
from pullback.graph.moved import Moved
from pullback.graph.ops import BY_CLASS
from pullback.graph.reductions import (
    Along,
    Amax,
    Amin,
    LogSoftmax,
    LogSumExp,
    Softmax,
    count,
    shaped_as,
    spread,
    summed_to,
)
from pullback.graph.stable import powers_of

_SUM, _PRODUCT, _UNARY, _POWER, _ATOM = 3, 4, 5, 6, 7
_OR, _AND, _NOT = 1, 2, 5
_RELATIONS = {sp.Gt: ">", sp.Ge: ">=", sp.Lt: "<", sp.Le: "<=", sp.Eq: "==", sp.Ne: "!="}
_CONSTANTS = {sp.I: "1j", sp.pi: "math.pi", sp.E: "math.e", sp.oo: "math.inf", -sp.oo: "-math.inf", sp.nan: "math.nan"}


class Printer:
    """Prints expressions of one function.

    Args:
        formula: The function; it tells tensors from Python numbers, which are spelled with ``math``.
        names: What the cotangent and the output are called.

    >>> from pullback.graph.parse import parse
    >>> formula = parse("x.sqrt() / (x ** 2 + 1)")
    >>> Printer(formula)(formula.out)
    'torch.sqrt(x) / (1 + x**2)'
    """

    def __init__(self, formula: Formula, names: Mapping[Term, str] | None = None) -> None:
        self.is_tensor = formula.is_tensor
        self.order = {p.symbol: at for at, p in enumerate(formula.parameters)}
        self.fading: set[Term] = set()
        self.written: dict[Term, tuple[str, int]] = {}
        self.out_fades = any(map(fades, sp.Mul.make_args(formula.out)))
        self.names = {COTANGENT: "g", OUT: "out", **(names or {})}

    def __call__(self, term: Term) -> str:
        """The expression as Python source."""
        return self.text(term)[0]

    def text(self, term: Term) -> tuple[str, int]:
        """Source and binding strength; each distinct part is written once."""
        if term not in self.written:
            self.written[term] = self.fresh(term)
        return self.written[term]

    def fresh(self, term: Term) -> tuple[str, int]:
        """Source and binding strength of what was not written before."""
        if term in _CONSTANTS:
            return _CONSTANTS[term], _ATOM
        if term.is_Symbol:
            return self.names.get(term, term.name), _ATOM
        if term.is_Rational:
            return _rational(term)
        if term.is_Float:
            return repr(float(term)), _ATOM
        return self.compound(term)

    def compound(self, term: Term) -> tuple[str, int]:
        """An expression with parts."""
        if isinstance(term, sp.Add):
            return self.sum(term), _SUM
        if isinstance(term, sp.Mul) or (isinstance(term, sp.Pow) and _below(term.exp)):
            return self.product(term), _PRODUCT
        if isinstance(term, sp.Pow):
            return self.power(term.base, term.exp)
        if isinstance(term, sp.logic.boolalg.Boolean):
            return self.condition(term)
        if isinstance(term, Part):
            return self.part(term)
        return self.call(term), _PRODUCT if isinstance(term, Moved) and _INFIX.search(term.template) else _ATOM

    def at(self, term: Term, strength: int) -> str:
        """Source, in parentheses if it binds less than its place needs."""
        text, own = self.text(term)
        return text if own >= strength else f"({text})"

    # sums and products --------------------------------------------------------------------------------------------

    def sum(self, term: Term) -> str:
        """Positive terms first, the shortest ahead."""
        parts = sorted(term.args, key=lambda p: (p.could_extract_minus_sign(), not p.is_number, len(self(p)), self(p)))
        text = self.at(parts[0], _SUM)
        for part in parts[1:]:
            negative = part.could_extract_minus_sign()
            text += f" - {self.at(-part, _PRODUCT)}" if negative else f" + {self.at(part, _SUM)}"
        return text

    def product(self, term: Term) -> str:
        """Factors above the line, then one division."""
        sign, term = ("-", -term) if term.could_extract_minus_sign() else ("", term)
        above, below, root = self.factors(term)
        top = [self.at(f, _PRODUCT if i == 0 else _PRODUCT + 1) for i, f in enumerate(above)]
        bottom = [self.at(f, _PRODUCT + 1) for f in below]
        scale = root + top or ["1"]
        if sign and "**" in scale[0] and scale[0][-1] != ")":
            scale[0] = f"({scale[0]})"
        if not bottom:
            return sign + " * ".join(scale)
        divisor = bottom[0] if len(bottom) == 1 else f"({' * '.join(bottom)})"
        return f"{sign}{' * '.join(scale)} / {divisor}"

    def factors(self, term: Term) -> tuple[list[Term], list[Term], list[str]]:
        """Factors above and below the line, in reading order, and square roots of numbers joined to one."""
        above: list[Term] = []
        below: list[Term] = []
        under_root = sp.S.One
        for base, power in powers_of(term).items():
            if base.is_number and base.is_positive and abs(power) == sp.Rational(1, 2):
                under_root *= base ** (2 * power)
            elif base.is_Rational and power == 1:
                above += (
                    [sp.Integer(base.p)] if base.p != 1 and not _decimal(base) else [base] if _decimal(base) else []
                )
                below += [sp.Integer(base.q)] if base.q != 1 and not _decimal(base) else []
            else:
                (below if _below(power) else above).append(base ** (-power if _below(power) else power))
        root = [] if under_root == 1 else [f"math.sqrt({self(under_root)})"]
        above, below = _ratios(above, below)
        return self.fading_first(sorted(above, key=self.rank)), sorted(below, key=self.rank), root

    def fading_first(self, factors: list[Any]) -> list[Any]:
        """Powers one factor at a time, behind what fades: ``x**2`` may be infinite where ``exp(-x)`` is zero."""
        powers = [f for f in factors if _whole_power(f) and f.exp <= _MULTIPLIED]
        if not (powers or (factors[:1] and factors[0].is_number)) or not any(map(self.fades, factors)):
            return factors
        singles = [part for f in factors for part in ([f.base] * f.exp if f in powers else [f])]
        return sorted(singles, key=lambda f: 0 if self.rank(f)[0] <= 1 else 1 if self.fades(f) else 2)

    def note(self, name: Term, value: Term) -> None:
        """Remember what is known of a part that got a name."""
        pairs = ((name, value), (1 - name, 1 - value), (1 - name**2, 1 - value**2))
        known = {written for written, meant in pairs if fades(meant)}
        if known:
            self.fading |= known
            self.written.clear()

    def fades(self, factor: Term) -> bool:
        """Whether a factor goes to zero faster than powers grow."""
        return factor in self.fading or (factor == OUT and self.out_fades) or fades(factor)

    def rank(self, term: Term) -> tuple[int, int, str]:
        """Numbers first, then the cotangent, parameters in their order, named parts, functions and sums."""
        base = term.base if term.is_Pow else term
        if term.is_number:
            return 0, 0, str(term)
        if base.is_Symbol:
            return (1, 0, "") if base == COTANGENT else (2, self.order.get(base, len(self.order)), base.name)
        return 4 if base.is_Add else 3, 0, self(term)

    def power(self, base: Term, exponent: Term) -> tuple[str, int]:
        """A square root, or base and exponent."""
        if exponent == sp.Rational(1, 2):
            return f"{'torch' if self.is_tensor(base) else 'math'}.sqrt({self(base)})", _ATOM
        left, right = self.at(base, _POWER + 1), self.at(exponent, _UNARY)
        left = f"({left})" if left.startswith("-") else left
        tight = left.replace(".", "").isidentifier() or left.replace(".", "").isdigit()
        tight = tight and right.lstrip("-").replace(".", "").isalnum()
        return (f"{left}**{right}" if tight else f"{left} ** {right}"), _POWER

    # conditions and calls -----------------------------------------------------------------------------------------

    def condition(self, term: Term) -> tuple[str, int]:
        """Comparisons and their combinations."""
        if term.func in _RELATIONS:
            left, right = self.at(term.lhs, _SUM), self.at(term.rhs, _SUM)
            return f"{left} {_RELATIONS[term.func]} {right}", _OR - 1
        if isinstance(term, Test):
            return f"torch.{term.func.__name__}({self(term.args[0])})", _ATOM
        if isinstance(term, sp.Not):
            return f"~{self.at(term.args[0], _NOT)}", _NOT
        word, strength = ("&", _AND) if isinstance(term, sp.And) else ("|", _OR)
        parts = sorted((self.at(a, strength) for a in term.args), key=lambda text: (" <" in text, text))
        return f" {word} ".join(parts), strength

    def call(self, term: Term) -> str:
        """A function application."""
        if term.func is where:
            return self.choice(term)
        if isinstance(term, Moved):
            return self.moved(term)
        if term.func in _SHAPES or isinstance(term, Along):
            return self.along(term)
        if term.func is clamp:
            bounds = [f"{k}={self(v)}" for k, v in zip(("min", "max"), term.args[1:], strict=True) if not v.is_infinite]
            return f"torch.clamp({', '.join([self(term.args[0]), *bounds])})"
        if not self.is_tensor(term):
            return self.number(term)
        if term.func in _SYMPY_ONLY:
            return f"{_SYMPY_ONLY[term.func]}({', '.join(map(self, term.args))})"
        spelling = BY_CLASS[term.func].spelling
        if "{}" in spelling:
            return spelling.format(*(self.at(a, _ATOM) for a in term.args))
        return f"{spelling}({', '.join(map(self, term.args))})"

    def part(self, term: Part) -> tuple[str, int]:
        """A function of complex numbers."""
        if term.func is squared_modulus:
            return self.power(modulus(term.args[0]), sp.Integer(2))
        return term.template.format(self.at(term.args[0], _ATOM if term.template[0] == "{" else 0)), _ATOM

    def along(self, term: Term) -> str:
        """An operation along dimensions, or one that only moves them."""
        if not isinstance(term, Along):
            return _SHAPES[term.func](self, *term.args)
        operand, dims, kept = term.args
        same_shape = term.func in (Softmax, LogSoftmax)
        options = [f"dim={_dims(dims)}"] if dims.args else []
        options += ["keepdim=True"] if kept == 1 and dims.args and not same_shape else []
        if term.func in (LogSumExp, Amax, Amin) and not dims.args:
            return f"{term.python}({self(operand)}, dim=tuple(range({self.sample(operand)}.ndim)))"
        return f"{term.python}({', '.join([self(operand), *options])})"

    def moved(self, term: Term) -> str:
        """A template with its operands, in parentheses except where they are arguments."""

        def part(hole: re.Match[str]) -> str:
            operand = term.operands[int(hole["at"])]
            whole, alone = (
                hole.string,
                (hole.string[hole.start() - 1 : hole.start()], hole.string[hole.end() : hole.end() + 1]),
            )
            argument = bool(whole) and alone[0] in ("(", " ", "[") and alone[1] in (")", ",", "]")
            text = self.sample(operand) if hole["like"] else self(operand)
            bare = argument and not whole[: hole.start()].endswith(("* ", "@ "))
            return text if bare or (hole["like"] and text != self(operand)) else self.at(operand, _ATOM)

        return _HOLE.sub(part, term.template).replace(".conj().mT", ".mH")

    def sample(self, operand: Term) -> str:
        """Something of the same shape that costs nothing to compute."""
        if any(not isinstance(node, (Softmax, LogSoftmax)) for node in operand.atoms(Along, *_SHAPES)):
            return self.at(operand, _ATOM)
        tensors = sorted((s for s in operand.free_symbols if self.is_tensor(s)), key=self.rank)
        names = ", ".join(map(self, tensors))
        return names if len(tensors) == 1 else f"torch.broadcast_tensors({names})[0]"

    def counted(self, operand: Term, dims: Term) -> str:
        """The number of elements along dimensions."""
        if not dims.args:
            return f"{self.sample(operand)}.numel()"
        sizes = [f"{self.sample(operand)}.shape[{d}]" for d in dims.args]
        return sizes[0] if len(sizes) == 1 else f"({' * '.join(sizes)})"

    def sample_of(self, like: Term) -> str:
        """The tensor itself, or the result whose shape is meant."""
        return self.at(like, _ATOM)

    def expanded(self, term: Term, like: Term) -> str:
        """Broadcast against another; the plain way where nothing else can be larger."""
        others = {s for s in term.free_symbols if self.is_tensor(s)} - {COTANGENT, OUT}
        if like.is_Symbol and not others:
            return f"{self.at(term, _ATOM)}.expand_as({self(like)})"
        return f"torch.broadcast_tensors({self(term)}, {self(like)})[0]"

    def unsqueezed(self, result: Term, dims: Term) -> str:
        """A result with its dimensions back, of size one."""
        text = self.at(result, _ATOM)
        for dim in sorted(dims.args, key=lambda d: (d < 0, d if d >= 0 else -d)):
            text += f".unsqueeze({dim})"
        return text

    def choice(self, term: Term) -> str:
        """A ``where`` on tensors, a conditional expression on numbers."""
        cond, a, b = term.args
        if not self.is_tensor(cond):
            return f"({self(a)} if {self(cond)} else {self(b)})"
        return f"torch.where({self(cond)}, {self(a)}, {self(b)})"

    def number(self, term: Term) -> str:
        """A function of Python numbers, spelled with ``math``."""
        if term.func in (sp.Abs, absolute):
            return f"abs({self(term.args[0])})"
        name = BY_CLASS[term.func].name if term.func in BY_CLASS else ""
        if hasattr(math, name):
            return f"math.{name}({', '.join(map(self, term.args))})"
        return f"({self(term.doit())})"


_HOLE = re.compile(r"\{(?P<like>like)?(?P<at>\d+)\}")
_INFIX = re.compile(r" [@*] |^-")
_SHAPES: dict[Term, Callable[..., str]] = {
    spread: lambda printer, result, dims, kept: printer.unsqueezed(result, dims),
    summed_to: lambda printer, term, like: f"{printer.at(term, _ATOM)}.sum_to_size({printer.sample_of(like)}.shape)",
    shaped_as: lambda printer, term, like: printer.expanded(term, like),
    count: lambda printer, operand, dims: printer.counted(operand, dims),
}
_SYMPY_ONLY = {
    sp.Abs: "torch.abs",
    sp.sign: "torch.sign",
    sp.polygamma: "torch.polygamma",
    sp.sec: "1 / torch.cos",
}


def fades(factor: Term) -> bool:
    """Whether an expression goes to zero faster than powers grow, in some direction."""
    if factor.is_Add and len(factor.args) == 2 and factor.args[0] == 1:
        rest = -factor.args[1]
        return rest.func is sigmoid or (rest.is_Pow and rest.exp == 2 and rest.base.func is sp.tanh)
    return factor.func in (sp.exp, sigmoid)


_MULTIPLIED = 3
"""The highest power that is written as a product."""


def _dims(dims: Term) -> str:
    return str(dims.args[0]) if len(dims.args) == 1 else str(tuple(int(d) for d in dims.args))


def _below(power: Term) -> bool:
    """Whether a factor with this exponent belongs under the line."""
    return bool(power.could_extract_minus_sign()) if power.is_number else False


def _decimal(number: Term) -> bool:
    """Whether a fraction is short as a decimal, and no simple division."""
    if number.q == 1:
        return True
    if number.p == 1 and number.q < 10:
        return False
    return len(repr(float(number))) < max(8, len(f"{number.p}{number.q}")) or number.q > 1000


def _rational(number: Term) -> tuple[str, int]:
    if number.q == 1:
        return str(number.p), _ATOM if number.p >= 0 else _UNARY
    if _decimal(number) or number.q in (2, 4, 5, 8):
        return repr(float(number)), _ATOM if number.p >= 0 else _UNARY
    return f"{number.p} / {number.q}", _PRODUCT


def _ratios(above: list[Term], below: list[Term]) -> tuple[list[Term], list[Term]]:
    """Write ``a**5 / b**6`` as ``(a / b)**5 / b``: the powers alone overflow long before their ratio."""
    for top in [t for t in above if _whole_power(t)]:
        bottom = next((b for b in below if _whole_power(b)), None)
        if bottom is None:
            break
        shared = min(top.exp, bottom.exp)
        above.remove(top)
        below.remove(bottom)
        ratio = sp.Pow(sp.Mul(top.base, 1 / bottom.base, evaluate=False), shared, evaluate=False)
        above += [ratio] + ([top.base ** (top.exp - shared)] if top.exp > shared else [])
        below += [bottom.base ** (bottom.exp - shared)] if bottom.exp > shared else []
    return above, below


def _whole_power(term: Term) -> bool:
    return term.func is sp.Pow and term.exp.is_Integer and term.exp > 1
