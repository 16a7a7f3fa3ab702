"""Conditions that belong together in the fewest bits: what excludes one another needs no bit each.

Comparisons of the same values cannot hold in all combinations. All that can be, unordered values (NaN) among them,
is listed from the order of what is compared; then as many conditions are sought as tell all combinations apart.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from pullback.graph.cut import bits_of
from pullback.graph.pair import Pair
from pullback.graph.trace import aten_name

Node = torch.fx.Node
Bits = tuple[bool, ...]
_aten = torch.ops.aten
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "gt": operator.gt, "ge": operator.ge, "lt": operator.lt, "le": operator.le, "eq": operator.eq, "ne": operator.ne,
}  # fmt: skip
_LOGIC: dict[str, Callable[..., bool]] = {
    "logical_and": lambda a, b: a and b, "bitwise_and": lambda a, b: a and b,
    "logical_or": lambda a, b: a or b, "bitwise_or": lambda a, b: a or b,
    "logical_xor": operator.ne, "bitwise_xor": operator.ne,
    "logical_not": lambda a: not a, "bitwise_not": lambda a: not a,
}  # fmt: skip
_JOINED = (_aten.logical_or.default, _aten.logical_and.default, _aten.logical_xor.default)
_MOST = 5  # conditions and compared values that are looked at: all combinations are listed
_SMALL = 64  # an argument with so many times fewer elements than the output costs nothing


@dataclass(frozen=True)
class Code:
    """What is kept instead, and for each condition how it comes back."""

    kept: list[Node]
    instead: dict[Node, Node]


def encoded(whole: Pair, kept: list[Node]) -> Code:
    """What is kept, with conditions of the output's size in the fewest bits."""
    full = max((bits_of(n) for n in kept if _is_condition(n)), default=0.0)
    conditions = [n for n in kept if _is_condition(n) and bits_of(n) == full]
    small = [a for a in whole.arguments.values() if bits_of(a) <= 32 * full / _SMALL]
    if not 2 <= len(conditions) <= _MOST:
        return Code(kept, {})
    table = _Table.of(conditions, small)
    found = table.shortest() if table is not None else None
    if table is None or found is None:
        return Code(kept, {})
    bits, given = found
    nodes = [bit.node(whole) for bit in bits]
    extra = [] if given is None else [n for n in given[:2] if n not in kept]
    others = [n for n in kept if n not in conditions]
    literals = [*nodes, *([] if given is None else [insert(whole, _aten.le.Tensor, given[:2])])]
    return Code([*others, *extra, *nodes], dict(zip(conditions, _decoders(whole, table, bits, given, literals))))


def _is_condition(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dtype == torch.bool


@dataclass(frozen=True)
class _Bit:
    """One bit: a condition, or two of them joined by a logical operation."""

    parts: tuple[Node, ...]
    places: tuple[int, ...]
    op: Any = None

    def value(self, row: Bits) -> bool:
        return row[self.places[0]] if self.op is None else _LOGIC[aten_name(self.op)](*(row[i] for i in self.places))

    def node(self, whole: Pair) -> Node:
        return self.parts[0] if self.op is None else insert(whole, self.op, self.parts)


Given = tuple[Node, Node, tuple[bool, ...]]


@dataclass(frozen=True)
class _Table:
    """All combinations of conditions that can be, and with each what is known of small arguments."""

    conditions: list[Node]
    rows: tuple[Bits, ...]
    known: tuple[tuple[Node, Node, tuple[bool, ...]], ...]  # pairs of small arguments: whether the first is the less

    @classmethod
    def of(cls, conditions: list[Node], small: Sequence[Node]) -> _Table | None:
        terms = list(dict.fromkeys(t for c in conditions for t in _compared(c)))
        free = [t for t in terms if isinstance(t, torch.fx.Node)]
        if len(free) > _MOST - 1 or len(terms) > _MOST:
            return None
        cases = list(_cases(free, sorted(float(t) for t in terms if not isinstance(t, torch.fx.Node))))
        rows = tuple(tuple(_holds(c, case) for c in conditions) for case in cases)
        pairs = itertools.permutations([t for t in free if t in small], 2)
        known = tuple((a, b, tuple(case[a] <= case[b] for case in cases)) for a, b in pairs)
        return cls(conditions, rows, known)

    def shortest(self) -> tuple[tuple[_Bit, ...], Given | None] | None:
        """The first set of bits, fewer than conditions, that tells all combinations apart."""
        bits = list(self._bits())
        for count in range(1, len(self.conditions)):
            for given in (None, *self.known):
                for chosen in itertools.combinations(bits, count):
                    if self._tells(chosen, given):
                        return chosen, given
        return None

    def _bits(self) -> Iterator[_Bit]:
        places = range(len(self.conditions))
        yield from (_Bit((self.conditions[i],), (i,)) for i in places)
        for op in _JOINED:
            for i, j in itertools.combinations(places, 2):
                yield _Bit((self.conditions[i], self.conditions[j]), (i, j), op)

    def _tells(self, chosen: Sequence[_Bit], given: Given | None) -> bool:
        seen: dict[Bits, Bits] = {}
        return all(seen.setdefault(key, row) == row for key, row in self.keyed(chosen, given))

    def keyed(self, chosen: Sequence[_Bit], given: Given | None) -> Iterator[tuple[Bits, Bits]]:
        """For each combination what is known in backward: the bits, and how the small arguments compare."""
        for i, row in enumerate(self.rows):
            yield (*(bit.value(row) for bit in chosen), *(() if given is None else (given[2][i],))), row


def _compared(node: Node) -> Iterator[Any]:
    """The nodes and numbers that a condition compares; itself where it is no comparison."""
    name = aten_name(node.target)
    if name in _COMPARE and not any(_is_condition(a) for a in node.all_input_nodes):
        dtype = node.args[0].meta["val"].dtype  # type: ignore[union-attr]
        yield from (a if isinstance(a, torch.fx.Node) else _rounded(a, dtype) for a in node.args)
    elif name in _LOGIC:
        for operand in node.all_input_nodes:
            yield from _compared(operand)
    else:
        yield node


def _rounded(number: Any, dtype: torch.dtype) -> float:
    """A number as a comparison with a tensor takes it."""
    return float(torch.tensor(number, dtype=dtype if dtype.is_floating_point else torch.float64))


def _cases(free: Sequence[Node], numbers: Sequence[float]) -> Iterator[dict[Any, float]]:
    """Every order in which the values of nodes can stand to one another and to the numbers; each may be NaN."""
    steps = [k / (len(free) + 1) for k in range(1, len(free) + 1)]
    spots = [i + step for i in range(-1, len(numbers)) for step in steps] + list(map(float, range(len(numbers))))
    fixed = {number: float(i) for i, number in enumerate(numbers)}
    choices = [(False, True) if _is_condition(n) else (*spots, math.nan) for n in free]
    for values in itertools.product(*choices):
        yield {**fixed, **dict(zip(free, values, strict=True))}


def _holds(node: Node, case: dict[Any, float]) -> bool:
    name = aten_name(node.target)
    if node in case:
        return bool(case[node])
    if name in _COMPARE:
        dtype = node.args[0].meta["val"].dtype  # type: ignore[union-attr]
        return _COMPARE[name](*(case[a if isinstance(a, torch.fx.Node) else _rounded(a, dtype)] for a in node.args))
    return _LOGIC[name](*(_holds(a, case) for a in node.all_input_nodes))


def insert(whole: Pair, op: Any, args: Sequence[Any]) -> Node:
    """A new node at the end of the graph."""
    graph = whole.module.graph
    (end,) = graph.find_nodes(op="output")
    with graph.inserting_before(end):
        node = graph.call_function(op, tuple(args))
    node.meta["val"] = op(*(a.meta["val"] if isinstance(a, torch.fx.Node) else a for a in args))
    return node


def _decoders(
    whole: Pair, table: _Table, bits: Sequence[_Bit], given: Given | None, literals: Sequence[Node]
) -> Iterator[Node]:
    """For each condition the node that gives it back from the bits."""
    from sympy import symbols
    from sympy.logic import SOPform

    names = symbols(f"b:{len(literals)}")
    nodes = dict(zip(names, literals, strict=True))
    keyed = dict(table.keyed(bits, given))
    never = [k for k in itertools.product((False, True), repeat=len(literals)) if k not in keyed]
    for place, _ in enumerate(table.conditions):
        holding = [list(map(int, key)) for key, row in keyed.items() if row[place]]
        yield _built(whole, SOPform(names, holding, [list(map(int, k)) for k in never]), nodes)


def _built(whole: Pair, expression: Any, nodes: dict[Any, Node]) -> Node:
    if expression in nodes:
        return nodes[expression]
    kind = type(expression).__name__
    parts = [_built(whole, a, nodes) for a in sorted(expression.args, key=str)]
    if kind == "Not":
        return insert(whole, _aten.logical_not.default, parts)
    op = _aten.logical_and.default if kind == "And" else _aten.logical_or.default
    node = parts[0]
    for part in parts[1:]:
        node = insert(whole, op, (node, part))
    return node
