"""Expressions to statements: what several of them share is computed once, and named for what it is."""

from __future__ import annotations

import builtins
import keyword
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import sympy as sp

from pullback.graph.complexes import conj
from pullback.graph.formula import Formula
from pullback.graph.functions import Term, where
from pullback.graph.moved import Moved
from pullback.graph.ops import BY_CLASS
from pullback.graph.printer import Printer
from pullback.graph.reductions import SHAPES, Along, Summed, count, shaped_as, spread, summed_to

_RESERVED = {"torch", "math", "pb", "ctx", "g", "out", "inputs", "output", "grad_output", "F"}


@dataclass(frozen=True)
class Block:
    """Statements that name shared parts, and the expressions that use them."""

    shared: tuple[tuple[Term, Term], ...]
    results: tuple[Term, ...]


class Namer:
    """Gives parts of expressions readable names that are not taken."""

    def __init__(self, formula: Formula, taken: Iterable[str] = ()) -> None:
        self.taken = {p.name for p in formula.parameters} | _RESERVED | set(taken) | {formula.name}
        self.authors = formula.named

    def __call__(self, term: Term) -> Term:
        """A fresh symbol for an expression."""
        base = self.authors.get(term) or _noun(term)
        wanted = base = f"{base}_value" if hasattr(builtins, base) else base
        count = 1
        while wanted in self.taken or keyword.iskeyword(wanted):
            count += 1
            wanted = f"{base}_{count}"
        self.taken.add(wanted)
        return sp.Symbol(wanted, real=True)


def _noun(term: Term) -> str:
    """What an expression is: ``tanh_x``, ``x_squared``, ``ratio``, ``safe_x``."""
    if term.func is where:
        safe = next((a for a in term.args[1:] if a.is_Symbol), None)
        return f"safe_{safe.name}" if safe is not None else "chosen"
    if isinstance(term, sp.logic.boolalg.Boolean):
        return "mask"
    if isinstance(term, Moved):
        return _moved_noun(term.template)
    if term.func is summed_to and term.args[1].is_Symbol:
        return f"grad_{term.args[1].name}"
    if isinstance(term, (Along, *SHAPES)):
        return _SHAPE_NOUNS.get(term.func) or str(term.func.__name__).lower()
    if isinstance(term, sp.Pow):
        return _power_noun(term)
    if isinstance(term, sp.Add):
        return "difference" if len(term.args) == 2 and any(a.could_extract_minus_sign() for a in term.args) else "total"
    if isinstance(term, sp.Mul):
        return "ratio" if any(a.is_Pow and a.exp.could_extract_minus_sign() for a in term.args) else "product"
    name = BY_CLASS[term.func].name if term.func in BY_CLASS else "term"
    return f"{name}_{term.args[0].name}" if term.args and term.args[0].is_Symbol else name


_SHAPE_NOUNS: dict[Term, str] = {count: "size", spread: "wide", summed_to: "share", shaped_as: "wide", Summed: "total"}


def _moved_noun(template: str) -> str:
    """The name of the operation that is applied last, or what an operator makes."""
    calls = re.findall(r"[.](\w+)\(", template)
    return "product" if "@" in template else calls[-1] if calls else "part"


def _power_noun(term: Term) -> str:
    if term.exp.could_extract_minus_sign():
        return "inverse"
    suffix = {2: "squared", 3: "cubed"}.get(term.exp)
    if suffix:
        return f"{term.base.name}_{suffix}" if term.base.is_Symbol else "square" if term.exp == 2 else "cube"
    return "root" if term.exp == sp.Rational(1, 2) else "power"


def share(results: Sequence[Term], formula: Formula, namer: Namer, printer: Printer, room: int) -> Block:
    """Name what occurs more than once, and parts of lines that are too long."""
    counts: Counter[Term] = Counter()
    for result in results:
        _count(result, counts, formula)
    worth = {t for t, n in counts.items() if n > 1 and _worth_naming(t, formula)}
    worth |= {t for t in counts if isinstance(t, Moved) and "torch.func.vjp" in t.template} - set(results)
    shared: list[tuple[Term, Term]] = []
    names: dict[Term, Term] = {}

    def visit(term: Term) -> Term:
        if term in names:
            return names[term]
        new = term.func(*map(visit, term.args)) if term.args else term
        if term in worth:
            names[term] = namer(term if term in formula.named else new)
            printer.note(names[term], term)
            shared.append((names[term], new))
            return names[term]
        return new

    finished = tuple(map(visit, results))
    return _shortened(Block(tuple(shared), finished), formula, namer, printer, room)


def _count(term: Term, counts: Counter[Term], formula: Formula) -> None:
    counts[term] += 1
    if counts[term] == 1 or not _worth_naming(term, formula):
        for arg in term.args:
            _count(arg, counts, formula)


def _worth_naming(term: Term, formula: Formula) -> bool:
    """Whether computing it twice costs more than reading its name."""
    if not term.args or not formula.is_tensor(term) or isinstance(term, sp.logic.boolalg.Boolean):
        return False
    if isinstance(term, conj):
        return bool(term.args[0].args)
    if isinstance(term, sp.Mul):
        return sum(formula.is_tensor(a) for a in term.args) > 1
    if isinstance(term, sp.Add) and term.args[0].is_number and len(term.args) == 2:
        rest = term.args[1]
        return not any(part.is_Symbol or isinstance(part, sp.Function) for part in (rest, -rest))
    if isinstance(term, sp.Pow):
        return not term.exp.could_extract_minus_sign() and not (term.base.is_Symbol and term.exp.is_Integer)
    return True


def _shortened(block: Block, formula: Formula, namer: Namer, printer: Printer, room: int) -> Block:
    """Split what does not fit into a line."""
    lines: list[tuple[Term, Term]] = []
    names: dict[Term, Term] = {}

    def fit(term: Term) -> Term:
        term = term.xreplace(names)
        while len(printer(term)) > room:
            parts = [a for a in _parts(term, formula) if 12 < len(printer(a)) < len(printer(term)) - 8]
            if not parts:
                break
            part = min(parts, key=lambda a: (_kind(a), -len(printer(a)), printer(a)))
            fitted = fit(part)
            name = namer(fitted)
            printer.note(name, part)
            lines.append((name, fitted))
            names[part] = name
            term = term.xreplace({part: name})
        return term

    for name, value in block.shared:
        fitted = fit(value)
        lines.append((name, fitted))
    results = tuple(map(fit, block.results))
    return Block(tuple(lines), results)


def _kind(term: Term) -> int:
    """What is named first: harmless arguments, then functions, sums and products."""
    if term.func is where:
        return 0 if any(a.is_number for a in term.args[1:]) else 3
    return 1 if isinstance(term, sp.Function) else 2 if term.is_Add else 3


def _parts(term: Term, formula: Formula) -> list[Term]:
    """The subexpressions that may get a line of their own."""
    inner = sp.preorder_traversal(term)
    return [
        a
        for a in inner
        if a.args and a != term and formula.is_tensor(a) and not isinstance(a, sp.logic.boolalg.Boolean)
    ]
