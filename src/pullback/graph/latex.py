"""Formulas as LaTeX: sums, moved elements and complex numbers in the signs that papers use.

Broadcasting is left unsaid; a sum over what it added to an argument is an arrow to that argument.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

from sympy.printing.latex import LatexPrinter

from pullback.graph import complexes as c
from pullback.graph import functions as f
from pullback.graph import reductions as r
from pullback.graph.functions import Term
from pullback.graph.moved import Moved
from pullback.graph.stable import everywhere
from pullback.graph.structure import Prod


def latex(term: Term) -> str:
    r"""An expression as LaTeX.

    >>> import sympy as sp
    >>> x = sp.Symbol("x", real=True)
    >>> latex(r.Softmax(x, sp.Tuple(-1), sp.S.One))
    '\\operatorname{softmax}_{-1}{\\left(x \\right)}'
    """
    return str(_Latex().doprint(everywhere(term, _seen)))


def _seen(term: Term) -> Term:
    return _seen(term.args[0]) if term.func in _UNSEEN else term


_UNSEEN = (r.spread, r.shaped_as, c.real_valued, f.nonzero, f.detach)
"""What means nothing on paper: dimensions of size one, and what keeps numbers finite where they are not used."""


def _call(name: str) -> Callable[..., str]:
    def form(printer: _Latex, *args: Term) -> str:
        return rf"{name}{{\left({', '.join(map(printer.doprint, args))} \right)}}"

    return form


def _along(name: str) -> Callable[..., str]:
    def form(printer: _Latex, u: Term, dims: Term, kept: Term) -> str:
        del kept
        return rf"{name}{_subscript(dims)}{{\left({printer.doprint(u)} \right)}}"

    return form


def _subscript(dims: Term) -> str:
    return f"_{{{', '.join(map(str, dims.args))}}}" if dims.args else ""


def _bars(printer: _Latex, u: Term) -> str:
    return rf"\left|{{{printer.doprint(u)}}}\right|"


def _clamp(printer: _Latex, x: Term, low: Term, high: Term) -> str:
    inner = printer.doprint(x)
    inner = inner if low.is_infinite else rf"\max\left({inner}, {printer.doprint(low)} \right)"
    return inner if high.is_infinite else rf"\min\left({inner}, {printer.doprint(high)} \right)"


def _alone(printer: _Latex, u: Term) -> str:
    return rf"\left({printer.doprint(u)}\right)" if u.is_Add or u.is_Mul else str(printer.doprint(u))


_FORMS: dict[Any, Callable[..., str]] = {
    r.Summed: _along(r"\sum"),
    r.Mean: _along(r"\operatorname{mean}"),
    r.LogSumExp: lambda p, u, dims, kept: rf"\log \sum{_subscript(dims)} e^{{{p.doprint(u)}}}",
    r.Softmax: _along(r"\operatorname{softmax}"),
    r.LogSoftmax: _along(r"\log \operatorname{softmax}"),
    r.Amax: _along(r"\max"),
    r.Amin: _along(r"\min"),
    Prod: _along(r"\prod"),
    r.summed_to: lambda p, u, like: rf"\sum_{{\to {p.doprint(like)}}}{{\left({p.doprint(u)} \right)}}",
    r.count: lambda p, u, dims: f"n{_subscript(dims)}",
    c.conj: lambda p, u: rf"\overline{{{p.doprint(u)}}}",
    c.real: _call(r"\operatorname{Re}"),
    c.imag: _call(r"\operatorname{Im}"),
    c.modulus: _bars,
    c.squared_modulus: lambda p, u: rf"{_bars(p, u)}^{{2}}",
    c.angle: _call(r"\arg"),
    f.absolute: _bars,
    f.clamp: _clamp,
    f.sigmoid: _call(r"\sigma"),
    f.maximum: _call(r"\max"),
    f.minimum: _call(r"\min"),
    f.expm1: lambda p, u: rf"\left(e^{{{p.doprint(u)}}} - 1\right)",
    f.log1p: lambda p, u: rf"\log{{\left(1 + {p.doprint(u)} \right)}}",
    f.lgamma: lambda p, u: rf"\log \Gamma{{\left({p.doprint(u)} \right)}}",
    f.digamma: _call(r"\psi"),
    f.trigamma: _call(r"\psi_{1}"),
    f.sign: _call(r"\operatorname{sign}"),
    f.sgn: _call(r"\operatorname{sign}"),
}
"""How what SymPy does not know is written."""


class _Latex(LatexPrinter):  # type: ignore[misc] # SymPy is untyped
    """SymPy's printer, with the forms above."""

    def _print_Function(self, expr: Term, exp: str | None = None) -> str:  # noqa: N802 - SymPy's name
        if expr.func is f.where:
            text = str(self._print(expr.doit(deep=False)))
        elif isinstance(expr, Moved):
            text = _Template(self, expr).text()
        elif expr.func in _FORMS:
            text = _FORMS[expr.func](self, *expr.args)
        elif isinstance(expr, f.Pointwise):
            text = _call(_operator(expr.func.__name__))(self, *expr.args)
        else:
            return str(super()._print_Function(expr, exp))
        return text if exp is None else rf"\left({text}\right)^{{{exp}}}"

    def _print_BooleanFunction(self, expr: Term) -> str:  # noqa: N802 - SymPy's name
        return _call(_operator(expr.func.__name__))(self, *expr.args)

    def _print_Symbol(self, expr: Term, style: str = "plain") -> str:  # noqa: N802 - SymPy's name
        return r"-\infty" if expr.name == "-math.inf" else str(super()._print_Symbol(expr, style))

    _print_Dummy = _print_Symbol  # noqa: N815 - SymPy's name

    def _needs_mul_brackets(self, expr: Term, first: bool = False, last: bool = False) -> bool:
        product = isinstance(expr, Moved) and " @ " in expr.template  # another kind of product
        return product or bool(super()._needs_mul_brackets(expr, first, last))


def _operator(name: str) -> str:
    """The name of an operation upright, without underscores."""
    return rf"\operatorname{{{name.strip('_').replace('_', ' ')}}}".replace(" ", r"\ ")


_HOLE = re.compile(r"\{(like)?(\d+)\}")
_TRANSPOSED = {"T": r"\top", "mT": r"\top", "H": r"\ast", "mH": r"\ast"}
_UNSAID = ("values", "contiguous", "expand_as", "sum_to_size", "expand")


class _Template:
    """The LaTeX of an operation that is written as a template of Python."""

    def __init__(self, printer: _Latex, term: Term) -> None:
        self.printer = printer
        self.operands = term.operands
        self.tree = ast.parse(_HOLE.sub(r"operand_\2", term.template), mode="eval").body

    def text(self) -> str:
        """The whole."""
        return self.visit(self.tree)

    def visit(self, node: ast.expr) -> str:
        """One part; sizes and types are left out."""
        method = getattr(self, "of_" + type(node).__name__.lower(), None)
        return str(method(node)) if method else ast.unparse(node)

    def of_name(self, node: ast.Name) -> str:
        """An operand, or what the template itself names."""
        if not node.id.startswith("operand_"):
            return node.id
        return _alone(self.printer, self.operands[int(node.id.removeprefix("operand_"))])

    def of_constant(self, node: ast.Constant) -> str:
        """A number, or a text as text."""
        return rf"\text{{{node.value}}}".replace("->", r"$\to$") if isinstance(node.value, str) else str(node.value)

    def of_unaryop(self, node: ast.UnaryOp) -> str:
        """A sign."""
        return f"-{self.visit(node.operand)}"

    def of_binop(self, node: ast.BinOp) -> str:
        """Sums and products; one of matrices without a sign."""
        sign = {ast.Add: " + ", ast.Sub: " - ", ast.MatMult: " ", ast.Mult: r" \cdot "}.get(type(node.op), " / ")
        return f"{self.visit(node.left)}{sign}{self.visit(node.right)}"

    def of_attribute(self, node: ast.Attribute) -> str:
        """A transpose; what is no mathematics is left out."""
        inner = self.visit(node.value)
        if node.attr in _TRANSPOSED:
            return f"{{{inner}}}^{{{_TRANSPOSED[node.attr]}}}"
        return inner if node.attr in _UNSAID else rf"{_operator(node.attr)}\left({inner}\right)"

    def of_subscript(self, node: ast.Subscript) -> str:
        """Elements by their places."""
        pulled = isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Subscript)
        inner = self.visit(node.value)
        return inner if pulled else rf"{{{inner}}}_{{\left[{self.index(node.slice)}\right]}}"

    def index(self, node: ast.expr) -> str:
        """What stands in brackets."""
        if isinstance(node, ast.Tuple):
            return ", ".join(map(self.index, node.elts))
        if isinstance(node, ast.Slice):
            return ":".join("" if part is None else self.visit(part) for part in (node.lower, node.upper))
        return r"\ldots" if ast.unparse(node) == "..." else self.visit(node)

    def of_call(self, node: ast.Call) -> str:
        """An operation by its name, its dimension below."""
        if isinstance(node.func, ast.Subscript):  # the gradient of an index goes back to where it was taken
            return rf"\operatorname{{scatter}}\left({', '.join(map(self.visit, node.args))}\right)"
        method = node.func
        if not isinstance(method, ast.Attribute):
            return ast.unparse(node)
        module = not isinstance(method.value, ast.Call) and ast.unparse(method.value).startswith("torch")
        receiver = [] if module else [method.value]
        if method.attr in _UNSAID or method.attr == "conj":
            inner = self.visit(receiver[0])
            return rf"\overline{{{inner}}}" if method.attr == "conj" else inner
        if method.attr in ("zeros_like", "ones_like"):
            return "0" if method.attr == "zeros_like" else "1"
        args = [self.visit(a) for a in (*receiver, *node.args) if not self.is_size(a)]
        below = [self.visit(k.value) for k in node.keywords if k.arg in ("dim", "dims")]
        return rf"{_operator(method.attr)}{'_{' + below[0] + '}' if below else ''}\left({', '.join(args)}\right)"

    def is_size(self, node: ast.expr) -> bool:
        """Whether an argument is a shape."""
        return ".shape" in ast.unparse(node) or isinstance(node, ast.Lambda)

    def of_tuple(self, node: ast.Tuple) -> str:
        """Several."""
        return ", ".join(map(self.visit, node.elts))

    of_list = of_tuple
