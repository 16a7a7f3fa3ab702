"""A term for any operation written as a template, and what has several results.

The text of a `Moved` term and those of its pulls are templates: ``{0}`` is the first operand, ``{like0}`` something of
its shape, ``{g}`` the cotangent and ``{out}`` the result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import sympy as sp
from sympy.core.symbol import Str

from pullback.graph.functions import Term
from pullback.graph.reductions import Along

_HOLE = re.compile(r"\{(like)?(\w+)\}")


NOTHING, INDEX = "", " "
"""The pulls of an operand to which nothing goes back, and of one that holds indices or conditions."""


class Several:
    """What an operation with several results returns.

    Args:
        results: The results, or what makes the one at a place.
        length: How many there are, where that is known.
    """

    def __init__(self, results: tuple[Term, ...] | Callable[[int], Term], length: int | None = None) -> None:
        self.results = results
        self.length = len(results) if isinstance(results, tuple) else length

    def __iter__(self) -> Iterator[Term]:
        """All of them, where it is known how many."""
        if self.length is None:
            raise TypeError("it is not known how many results there are")
        return map(self.__getitem__, range(self.length))

    def __getitem__(self, at: int) -> Term:
        """One of them."""
        if self.length is not None and not -self.length <= at < self.length:
            raise TypeError(f"there are {self.length} results")
        if isinstance(self.results, tuple):
            return self.results[at]
        return self.results(at + self.length if at < 0 and self.length else at)


class Moved(Along):
    """One operation: its template, the template of each pull, what kind it is of, and the operands."""

    nargs = None

    @property
    def operands(self) -> tuple[Term, ...]:
        """What it is applied to."""
        return tuple(self.args[3:])

    @property
    def template(self) -> str:
        """How it is written."""
        return str(self.args[0].name)

    @property
    def broadcasts(self) -> bool:
        """Whether what goes back can be larger than the operand."""
        return bool(self.args[2] == _BROADCASTS)

    @property
    def is_constant_of_real(self) -> bool:
        """Whether it is a tensor of real constants."""
        return CONSTANT in self.operands and not re.search(r"complex|\dj\b", self.template)

    @property
    def compares(self) -> bool:
        """Whether it compares elements, which must be real for that."""
        return bool(self.args[2] == _COMPARES)

    def back(self, cotangent: Term) -> tuple[Term, ...]:
        """The cotangent of each operand."""
        known = {"g": cotangent, "out": self, **{str(at): term for at, term in enumerate(self.operands)}}
        return tuple(_filled(pull.name, known) if pull.name.strip() else sp.S.Zero for pull in self.args[1])


CONSTANT = sp.Symbol("torch.constant", real=True)
"""An operand of all tensors of constants, whose shape is not known."""


def fixed(text: str, mentioned: Sequence[Term] = ()) -> Term:
    """A tensor of constants, of a shape that is not known."""
    return moved(text, [NOTHING] * (len(mentioned) + 1), [*mentioned, CONSTANT])


def _filled(template: str, known: dict[str, Term]) -> Term:
    """A template with what it names, and nothing else, as operands."""
    names = list(dict.fromkeys(name for _, name in _HOLE.findall(template)))
    text = _HOLE.sub(lambda hole: f"{{{hole[1] or ''}{names.index(hole[2])}}}", template)
    return known[names[0]] if text == "{0}" else moved(text, [], [known[name] for name in names])


_BROADCASTS, _COMPARES = 1, 2


def moved(
    template: str,
    pulls: Sequence[str],
    operands: Sequence[Term],
    *,
    broadcasts: bool = False,
    compares: bool = False,
) -> Term:
    """A term of the given operands."""
    kind = _BROADCASTS if broadcasts else _COMPARES if compares else 0
    return Moved(Str(template), sp.Tuple(*map(Str, pulls)), sp.Integer(kind), *operands)
