"""A graph element by element: what a function computes at given sizes, one expression for each number.

Each distinct expression has an identity, and a tensor is a tensor of identities: what only moves elements, PyTorch
itself does with them. Pointwise operations go by the ops table, sums and products of matrices by their definition.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp
import torch

from pullback._torch import pytree
from pullback.errors import TraceError
from pullback.graph import functions as f
from pullback.graph.formula import exact
from pullback.graph.functions import Term
from pullback.graph.ops import BY_ATEN, number
from pullback.graph.stable import everywhere
from pullback.graph.trace import Trace, aten_name

_MOVING = {
    "view", "_unsafe_view", "reshape", "expand", "permute", "transpose", "t", "unsqueeze", "squeeze", "select", "slice",
    "index", "gather", "cat", "stack", "flip", "roll", "clone", "alias", "detach", "diagonal", "unbind", "split",
    "split_with_sizes", "repeat", "index_select", "unfold", "select_scatter", "slice_scatter", "diagonal_scatter",
    "tril", "triu", "lift_fresh_copy", "lift_fresh", "zeros_like", "sym_size", "sym_numel", "embedding",
}  # fmt: skip
_PLACEMENT = ("dtype", "device", "layout", "pin_memory", "memory_format", "non_blocking")
_MOST, _LONGEST = 64, 1500
"""How many elements a tensor may have, and operations an expression: formulas are for small ones."""


@dataclass(frozen=True)
class Cells:
    """A tensor of expressions: the identity of each."""

    ids: torch.Tensor


Places = dict[tuple[int, ...], Term]
"""The expressions of a tensor by their places."""


def elements(traced: Trace) -> tuple[list[Places], dict[str, Places]]:
    """The results of a graph, and the symbols of those inputs that are tensors of floating-point numbers.

    Args:
        traced: The graph, whose other inputs have the values it was recorded with.

    Raises:
        TraceError: Where the graph holds an operation that is not known element by element.

    >>> from pullback.graph.trace import trace
    >>> x = torch.ones(2)
    >>> elements(trace(lambda x: x / x.sum(), x))[0]
    [{(0,): x[0]/(x[0] + x[1]), (1,): x[1]/(x[0] + x[1])}]
    """
    run = _Run(traced)
    if any(isinstance(v, torch.Tensor) and v.is_complex() for v in traced.given.values()):
        raise TraceError(traced.name, "real tensors", "a complex one", "values alone are compared")
    given = [run.named(node.meta["parameter"]) for node in traced.module.graph.find_nodes(op="placeholder")]
    results = run.run(*given)
    flat = [run.by_place(r) for r in (results if isinstance(results, (tuple, list)) else (results,))]
    return flat, run.symbols


class _Run(torch.fx.Interpreter):
    """One run of a graph on expressions."""

    def __init__(self, traced: Trace) -> None:
        super().__init__(traced.module)
        self.traced = traced
        self.terms: list[Term] = [sp.S.Zero]
        self.known: dict[Term, int] = {sp.S.Zero: 0}
        self.symbols: dict[str, Places] = {}
        self.sizes: dict[Term, int] = {}

    # identities ----------------------------------------------------------------------------------------------------

    def id(self, term: Term) -> int:
        """The identity of an expression."""
        if term not in self.known:
            self.at_most(_LONGEST, "operations", size_of(term, self.sizes))
            self.known[term] = len(self.terms)
            self.terms.append(term)
        return self.known[term]

    def at_most(self, limit: int, what: str, got: int) -> None:
        """Refuse what would take too long."""
        if got > limit:
            raise TraceError(self.traced.name, f"at most {limit} {what}", str(got), "give it smaller inputs")

    def cells(self, terms: Sequence[Term], shape: Sequence[int]) -> Cells:
        """A tensor of expressions."""
        self.at_most(_MOST, "elements", len(terms))
        return Cells(torch.tensor([self.id(t) for t in terms], dtype=torch.int64).reshape(list(shape)))

    def of(self, value: Any) -> torch.Tensor:
        """The identities of anything that is a tensor of numbers, or a number."""
        if isinstance(value, Cells):
            return value.ids
        if isinstance(value, torch.Tensor):
            return self.cells([_sympy(v) for v in value.flatten().tolist()], value.shape).ids
        return torch.tensor(self.id(_sympy(value)))

    def listed(self, ids: torch.Tensor) -> list[Term]:
        """The expressions of identities, in order."""
        return [self.terms[i] for i in ids.flatten().tolist()]

    def named(self, name: str) -> Any:
        """An input as symbols."""
        value = self.traced.given[name]
        if not isinstance(value, torch.Tensor):
            return sp.Symbol(name, real=True) if type(value) is float else value
        if not value.is_floating_point():
            return value
        places = _places(value.shape)
        self.symbols[name] = {at: sp.Symbol(f"{name}{list(at) if at else ''}", real=True) for at in places}
        return self.cells(list(self.symbols[name].values()), value.shape)

    def by_place(self, value: Any) -> Places:
        """A result, with nothing for none."""
        if value is None:
            return {}
        ids = self.of(value)
        return dict(zip(_places(ids.shape), map(_without_needless_signs, self.listed(ids)), strict=True))

    # operations ----------------------------------------------------------------------------------------------------

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """One operation of the graph."""
        name = aten_name(target) or _ON_NUMBERS.get(target, "")
        kept = {k: v for k, v in kwargs.items() if k not in _PLACEMENT}
        if not any(isinstance(leaf, (Cells, sp.Basic)) for leaf in pytree.tree_leaves((args, kept))):
            whole = name == "div" and all(type(a) is int for a in args)
            return sp.Rational(*args) if whole else super().call_function(target, args, kwargs)
        if target is operator.getitem:
            return args[0][args[1]]
        if name.endswith("_") and isinstance(args[0], Cells):
            made = self.of(self.result(name[:-1], target, args, kept))
            args[0].ids.copy_(made)  # those that share its memory see it
            return args[0]
        return self.result(name, target, args, kept)

    def result(self, name: str, target: Any, args: Any, kwargs: Any) -> Any:
        """What an operation on expressions returns."""
        if name in _MOVING and not _by_value(name, args):
            return self.move(target, args, kwargs)
        if name in _DEFINED and not str(target).endswith(_INDEXED):
            return _DEFINED[name](self, *args, **kwargs)
        if name in BY_ATEN:
            return self.pointwise(BY_ATEN[name].form, args, kwargs)
        known = "an operation that is known element by element"
        raise TraceError(self.traced.name, known, str(target), "values alone are compared")

    def move(self, target: Any, args: Any, kwargs: Any) -> Any:
        """What only moves elements, done with their identities."""

        def identities(value: Any) -> Any:
            real = isinstance(value, Cells) or (isinstance(value, torch.Tensor) and value.is_floating_point())
            return self.of(value) if real else value

        result = target(*pytree.tree_map(identities, args), **kwargs)
        return pytree.tree_map(lambda r: Cells(r) if isinstance(r, torch.Tensor) else r, result)

    def pointwise(self, form: Callable[..., Term], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """The same expression of each element, broadcast."""
        given: dict[Any, Any] = dict(enumerate(args))
        given |= kwargs
        tensors = {k: self.of(v) for k, v in given.items() if isinstance(v, (Cells, torch.Tensor))}
        shape = torch.broadcast_shapes(*(ids.shape for ids in tensors.values()))
        if math.prod(shape) > _MOST:
            raise TraceError(
                self.traced.name, f"at most {_MOST} elements", f"{math.prod(shape)}", "give it smaller inputs"
            )
        rows = {k: self.listed(ids.expand(shape)) for k, ids in tensors.items()}
        fixed = {k: _sympy(v) for k, v in given.items() if k not in tensors}

        def one(at: int) -> Term:
            here = {k: rows[k][at] if k in rows else fixed[k] for k in given}
            return sp.sympify(form(*(here[n] for n in range(len(args))), **{k: here[k] for k in kwargs}))

        made = [one(at) for at in range(math.prod(shape))]
        return self.cells(made, shape) if tensors else made[0]

    def fold(self, x: Any, dims: Any, keepdim: bool, rule: Callable[[list[Term]], Term]) -> Cells:
        """One expression from those along dimensions; all of them where none is named."""
        ids = self.of(x)
        named = [dims] if isinstance(dims, int) else dims or range(ids.ndim)
        gone = [d % ids.ndim for d in named if ids.ndim]
        stay = [d for d in range(ids.ndim) if d not in gone]
        rows = ids.permute(*stay, *gone).reshape(math.prod(ids.shape[d] for d in stay), -1)
        shape = [1 if d in gone else n for d, n in enumerate(ids.shape) if keepdim or d not in gone]
        return self.cells([rule(self.listed(row)) for row in rows], shape)

    def along(self, x: Any, dim: int, rule: Callable[[list[Term]], list[Term]]) -> Cells:
        """Expressions from those along a dimension, in their places."""
        ids = self.of(x)
        last = ids.movedim(dim, -1) if ids.ndim else ids.reshape(1)
        rows = [rule(self.listed(row)) for row in last.reshape(-1, last.shape[-1])]
        made = self.cells([t for row in rows for t in row], last.shape).ids
        return Cells(made.movedim(-1, dim) if ids.ndim else made.reshape(()))

    def matmul(self, a: Any, b: Any) -> Cells:
        """The product of matrices, or of batches of them."""
        left, right = self.of(a), self.of(b)
        shape = [*left.shape[:-1], right.shape[-1]]
        rows, columns = left.unsqueeze(-2), right.mT.unsqueeze(-3)
        flat = [t.expand([*shape, left.shape[-1]]).reshape(-1, left.shape[-1]) for t in (rows, columns)]
        return self.cells([_dot(self.listed(r), self.listed(c)) for r, c in zip(*flat, strict=True)], shape)

    def put(self, x: Any, indices: Any, values: Any, accumulate: bool = False) -> Cells:
        """Values written, or added, at indices."""
        ids = self.of(x).clone()
        at = torch.arange(ids.numel()).reshape(ids.shape)[tuple(slice(None) if i is None else i for i in indices)]
        flat = ids.reshape(-1)
        wanted = self.of(values).expand(at.shape).flatten().tolist()
        for place, value in zip(at.flatten().tolist(), wanted, strict=True):
            flat[place] = self.id(self.terms[flat[place]] + self.terms[value]) if accumulate else value
        return Cells(flat.reshape(ids.shape))


def size_of(term: Term, known: dict[Term, int]) -> int:
    """How many operations an expression has, counting those that are met again; ``known`` remembers."""
    if term not in known:
        known[term] = 1 + sum(size_of(a, known) for a in term.args)
    return known[term]


def _without_needless_signs(term: Term) -> Term:
    """Even powers of absolute values without those: all here is real."""

    def rule(node: Term) -> Term:
        even = node.is_Pow and node.exp.is_even and node.base.func is f.absolute
        return node.base.args[0] ** node.exp if even else node

    return everywhere(term, rule)


def _dot(a: Sequence[Term], b: Sequence[Term]) -> Term:
    return sp.Add(*(x * y for x, y in zip(a, b, strict=True)))


def _mean(terms: list[Term]) -> Term:
    return sp.Add(*terms) / len(terms)


def _largest(terms: list[Term]) -> Term:
    first, *rest = terms
    return f.maximum(first, _largest(rest)) if rest else first


def _smallest(terms: list[Term]) -> Term:
    return -_largest([-t for t in terms])


def _shares(terms: list[Term]) -> list[Term]:
    total = sp.Add(*map(sp.exp, terms))
    return [sp.exp(t) / total for t in terms]


def _log_shares(terms: list[Term]) -> list[Term]:
    total = sp.log(sp.Add(*map(sp.exp, terms)))
    return [t - total for t in terms]


def _sums(terms: list[Term]) -> list[Term]:
    return [sp.Add(*terms[: at + 1]) for at in range(len(terms))]


def _variance(run: _Run, x: Any, dim: Any = None, correction: Any = 1, keepdim: bool = False) -> Cells:
    less = 1 if correction is None else correction

    def rule(terms: list[Term]) -> Term:
        middle = _mean(terms)
        return sp.Add(*((t - middle) ** 2 for t in terms)) / (len(terms) - _sympy(less))

    return run.fold(x, dim, keepdim, rule)


def _norm(run: _Run, x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False) -> Cells:  # noqa: A002 - PyTorch's name
    p = _sympy(ord)
    return run.fold(x, dim, keepdim, lambda terms: sp.Add(*(f.absolute(t) ** p for t in terms)) ** (1 / p))


def _layer_norm(run: _Run, x: Any, shape: Any, weight: Any, bias: Any, eps: Any) -> tuple[Cells, None, None]:
    ids = run.of(x)
    rows = Cells(ids.reshape(*ids.shape[: ids.ndim - len(shape)], -1))

    def rule(terms: list[Term]) -> list[Term]:
        middle = _mean(terms)
        return [(t - middle) / sp.sqrt(_mean([(u - middle) ** 2 for u in terms]) + _sympy(eps)) for t in terms]

    unit: Any = Cells(run.along(rows, -1, rule).ids.reshape(ids.shape))
    unit = unit if weight is None else run.pointwise(operator.mul, (unit, weight), {})
    return unit if bias is None else run.pointwise(operator.add, (unit, bias), {}), None, None


def _folding(rule: Callable[[list[Term]], Term]) -> Callable[..., Cells]:
    return lambda run, x, dim=None, keepdim=False, **_: run.fold(x, dim, keepdim, rule)


def _adding(run: _Run, x: Any, a: Any, b: Any, beta: Any = 1, alpha: Any = 1) -> Cells:
    result = run.pointwise(lambda u, v: _sympy(beta) * u + _sympy(alpha) * v, (x, run.matmul(a, b)), {})
    return Cells(run.of(result))


_DEFINED: dict[str, Callable[..., Any]] = {
    "sum": _folding(lambda terms: sp.Add(*map(number, terms))),
    "mean": _folding(_mean),
    "prod": _folding(lambda terms: sp.Mul(*terms)),
    "amax": _folding(_largest),
    "amin": _folding(_smallest),
    "max": _folding(_largest),
    "min": _folding(_smallest),
    "logsumexp": _folding(lambda terms: sp.log(sp.Add(*map(sp.exp, terms)))),
    "var": _variance,
    "native_layer_norm": _layer_norm,
    "linalg_vector_norm": _norm,
    "_softmax": lambda run, x, dim, half=False: run.along(x, dim, _shares),
    "_log_softmax": lambda run, x, dim, half=False: run.along(x, dim, _log_shares),
    "cumsum": lambda run, x, dim: run.along(x, dim, _sums),
    "mm": _Run.matmul,
    "bmm": _Run.matmul,
    "mv": lambda run, a, v: Cells(run.matmul(a, Cells(run.of(v).unsqueeze(-1))).ids.squeeze(-1)),
    "dot": lambda run, a, b: run.cells([_dot(run.listed(run.of(a)), run.listed(run.of(b)))], ()),
    "addmm": _adding,
    "baddbmm": _adding,
    "index_put": _Run.put,
    "copy": lambda run, x, value, half=False: Cells(run.of(value).expand_as(x.ids)),
    "fill": lambda run, x, value: Cells(run.of(value).expand_as(x.ids)),
    "zero": lambda run, x: Cells(torch.zeros_like(x.ids)),
    "full_like": lambda run, x, value: Cells(torch.full_like(run.of(x), run.id(_sympy(value)))),
    "ones_like": lambda run, x: Cells(torch.full_like(run.of(x), run.id(sp.S.One))),
    "constant_pad_nd": lambda run, x, pad, value=0: Cells(torch.constant_pad_nd(run.of(x), pad, run.id(_sympy(value)))),
}
"""What is neither pointwise nor a move, by its definition."""

_ON_NUMBERS: dict[Any, str] = {
    operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.truediv: "div", operator.pow: "pow",
    operator.neg: "neg", torch.sym_float: "alias",
}  # fmt: skip


_INDEXED = ("max.dim", "min.dim")
"""What returns places that depend on values."""


def _by_value(name: str, args: Any) -> bool:
    """Whether elements are chosen by what is computed."""
    return name in ("index", "gather", "index_select", "embedding") and any(
        isinstance(leaf, Cells) for leaf in pytree.tree_leaves(args[1:])
    )


def _sympy(value: Any) -> Any:
    if isinstance(value, bool):
        return sp.true if value else sp.false
    return exact(value) if type(value) in (int, float) else value


def _places(shape: Sequence[int]) -> list[tuple[int, ...]]:
    return [tuple(at) for at in torch.ones(list(shape)).nonzero().tolist()]
