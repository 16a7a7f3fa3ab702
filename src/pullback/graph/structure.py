"""Operations that move, select, scan or contract elements: how each is written, and how a cotangent goes back.

A row makes a `Moved` term from operands and plain Python options.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import sympy as sp

from pullback.graph import functions as f
from pullback.graph.complexes import conj
from pullback.graph.functions import Term
from pullback.graph.moved import CONSTANT, INDEX, NOTHING, Moved, Several, moved
from pullback.graph.reductions import WHOLE, Along, Amax, Amin, Summed, count, spread


def _one(template: str, pull: str) -> Callable[[Term], Term]:
    """A row without options."""
    return lambda x: moved(template, [pull], [x])


# selecting -----------------------------------------------------------------------------------------------------------


def _at(dim: int, index: str) -> str:
    """The subscript that applies an index to one dimension."""
    others = [":"] * (dim if dim >= 0 else -1 - dim)
    return ", ".join([*others, index] if dim >= 0 else ["...", index, *others])


def _zeros(scatter: str) -> str:
    return f"torch.zeros_like({{like0}}).{scatter}"


_SCATTERED = re.compile(r"torch\.zeros_like\(\{like(\d+)\}\)\.(\w+)_scatter\((\{\d+\})(?:, (-?\d+), (.*))?\)")


def of_complex(pull: str) -> str:
    """A pull in operations that PyTorch differentiates for complex numbers, too: ``select_scatter`` is none.

    >>> of_complex("torch.zeros_like({like0}).select_scatter({1}, -1, 0)")
    'torch.func.vjp(lambda argument: argument[..., 0], {0})[1]({1})[0]'
    """
    found = _SCATTERED.fullmatch(pull)
    if found is None:
        return pull
    like, kind, cotangent, dim, rest = found.groups()
    ends = [end for _, end in re.findall(r"(\w+)=(.+?)(?=, \w+=|$)", rest or "")]
    index = ":".join("" if end == "None" else end for end in ends) if kind == "slice" else rest
    taken = "argument.diagonal()" if dim is None else f"argument[{_at(int(dim), index)}]"
    if chunks := re.search(r"// (\d+)", index or ""):
        taken = f"torch.chunk(argument, {chunks[1]}, dim={dim})[{ends[0].partition(' ')[0]}]"
    return f"torch.func.vjp(lambda argument: {taken}, {{{like}}})[1]({cotangent})[0]"


def select(x: Term, dim: Any, index: Any) -> Term:
    """One index of one dimension, which goes."""
    return moved(f"{{0}}[{_at(int(dim), str(index))}]", [_zeros(f"select_scatter({{g}}, {dim}, {index})")], [x])


def narrow(x: Term, dim: int, start: int | None, stop: int | None, step: int | None) -> Term:
    """A slice of one dimension."""
    if (start, stop, step) == (None, None, None):
        return x
    words = ["" if s is None else str(s) for s in (start, stop)] + ([] if step is None else [str(step)])
    options = f", start={start}, end={stop}" + ("" if step is None else f", step={step}")
    return moved(f"{{0}}[{_at(dim, ':'.join(words))}]", [_zeros(f"slice_scatter({{g}}, {dim}{options})")], [x])


def _unsqueeze(x: Term, dim: Any) -> Term:
    return moved(f"{{0}}.unsqueeze({dim})", [f"{{g}}.squeeze({dim})"], [x])


def subscript(x: Term, items: Sequence[Any]) -> Term:
    """``x[items]`` for integers, slices, ``None``, one ellipsis, and tensors of indices or conditions.

    >>> subscript(sp.Symbol("x"), (..., 0)).template
    '{0}[..., 0]'
    """
    if any(isinstance(item, sp.Basic) for item in items):
        return _indexed(x, items)
    split = items.index(...) if ... in items else len(items)
    dim = 0
    for item in items[:split]:
        x = _applied(x, dim, item)
        dim += not isinstance(item, int)
    dim = -1
    for item in reversed(items[split + 1 :]):
        x = _applied(x, dim, item)
        dim -= not isinstance(item, int)
    return x


def _indexed(x: Term, items: Sequence[Any]) -> Term:
    """A subscript with tensors in it."""
    tensors = [item for item in items if isinstance(item, sp.Basic)]
    places = iter(f"{{{at}}}" for at in range(1, len(tensors) + 1))
    inner = ", ".join(next(places) if isinstance(item, sp.Basic) else _slice(item) for item in items)
    if len(tensors) == len(items):
        pull = (
            f"torch.zeros_like({{like0}}).index_put(({inner}{',' if len(items) == 1 else ''}), {{g}}, accumulate=True)"
        )
    else:
        pull = f"torch.func.vjp(lambda argument: argument[{inner}], {{0}})[1]({{g}})[0]"
    return moved(f"{{0}}[{inner}]", [pull, *[INDEX] * len(tensors)], [x, *tensors])


def _slice(item: Any) -> str:
    if not isinstance(item, slice):
        return "..." if item is ... else str(item)
    ends = ":".join("" if part is None else str(part) for part in (item.start, item.stop))
    return ends if item.step is None else f"{ends}:{item.step}"


def _applied(x: Term, dim: int, item: Any) -> Term:
    if item is None:
        return _unsqueeze(x, dim)
    return narrow(x, dim, item.start, item.stop, item.step) if isinstance(item, slice) else select(x, dim, item)


def _diff(x: Term, n: Any = 1, dim: Any = -1) -> Term:
    for _ in range(int(n)):
        x = narrow(x, int(dim), 1, None, None) - narrow(x, int(dim), None, -1, None)
    return x


# moving --------------------------------------------------------------------------------------------------------------


def _swapped(x: Term, dim0: Any, dim1: Any) -> Term:
    return moved(f"{{0}}.transpose({dim0}, {dim1})", [f"{{g}}.transpose({dim0}, {dim1})"], [x])


def _permuted(x: Term, *dims: Any) -> Term:
    order = _flat(dims)
    inverse = sorted(range(len(order)), key=lambda at: order[at] % len(order))
    return moved(f"{{0}}.permute{tuple(order)}", [f"{{g}}.permute{tuple(inverse)}"], [x])


def _flat(dims: Sequence[Any]) -> list[int]:
    return [int(d) for d in (dims[0] if len(dims) == 1 and isinstance(dims[0], tuple) else dims)]


def _sizes(shape: Sequence[Any]) -> tuple[str, list[Term]]:
    """Sizes as text, with holes for those that depend on tensors, and what goes there."""
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
    unknown = [s for s in sizes if isinstance(s, sp.Basic) and not s.is_Integer]
    places = iter(f"{{{at}}}" for at in range(1, len(unknown) + 1))
    return ", ".join(next(places) if any(s is u for u in unknown) else str(int(s)) for s in sizes), unknown


def _shaped(name: str, pull: str) -> Callable[..., Term]:
    def build(x: Term, *shape: Any) -> Term:
        inner, unknown = _sizes(shape)
        return moved(f"{{0}}.{name}({inner})", [pull, *[NOTHING] * len(unknown)], [x, *unknown])

    return build


_BACK = "{g}.reshape({like0}.shape)"


def _squeezed(x: Term, dim: Any = None) -> Term:
    inner = "" if dim is None else str(dim)
    return moved(f"{{0}}.squeeze({inner})", ["{g}.reshape({like0}.shape)"], [x])


def _flattened(x: Term, start_dim: Any = 0, end_dim: Any = -1) -> Term:
    inner = "" if (start_dim, end_dim) == (0, -1) else f"{start_dim}, {end_dim}"
    return moved(f"{{0}}.flatten({inner})", [_BACK], [x])


def _flipped(x: Term, *dims: Any) -> Term:
    return _one(f"torch.flip({{0}}, {_listed(dims)})", f"torch.flip({{g}}, {_listed(dims)})")(x)


def _listed(dims: Sequence[Any]) -> str:
    return "(" + ", ".join(map(str, _flat(dims))) + ("," if len(_flat(dims)) == 1 else "") + ")"


def _rolled(x: Term, shifts: Any, dims: Any = None) -> Term:
    pairs = [
        tuple(map(int, s)) if isinstance(s, tuple) else int(s) for s in ((shifts,) if dims is None else (shifts, dims))
    ]
    back = tuple(-s for s in pairs[0]) if isinstance(pairs[0], tuple) else -pairs[0]
    along = "" if dims is None else f", {pairs[1]}"
    return moved(f"torch.roll({{0}}, {pairs[0]}{along})", [f"torch.roll({{g}}, {back}{along})"], [x])


def _triangle(name: str) -> Callable[..., Term]:
    return lambda x, diagonal=0: moved(f"torch.{name}({{0}}, {diagonal})", [f"torch.{name}({{g}}, {diagonal})"], [x])


def _stacked(tensors: Sequence[Term], dim: Any = 0) -> Term:
    holes = ", ".join(f"{{{at}}}" for at in range(len(tensors)))
    pulls = [f"{{g}}[{_at(int(dim), str(at))}]" for at in range(len(tensors))]
    return moved(f"torch.stack([{holes}], dim={dim})", pulls, tensors)


def _joined(tensors: Sequence[Term], dim: Any = 0) -> Term:
    holes = ", ".join(f"{{{at}}}" for at in range(len(tensors)))
    sizes = ", ".join(f"{{like{at}}}.shape[{dim}]" for at in range(len(tensors)))
    pulls = [f"torch.split({{g}}, [{sizes}], dim={dim})[{at}]" for at in range(len(tensors))]
    return moved(f"torch.cat([{holes}], dim={dim})", pulls, tensors)


def _chosen(which: str, pick: str) -> Callable[..., Term]:
    def build(x: Term, dim: Any, keepdim: bool = False) -> Term:
        place = f"{{0}}.{pick}({dim}, keepdim=True)"
        wide = "{g}" if keepdim else f"{{g}}.unsqueeze({dim})"
        options = f"{dim}, keepdim=True" if keepdim else f"{dim}"
        pull = f"torch.zeros_like({{like0}}).scatter({dim}, {place}, {wide})"
        values = moved(f"{{0}}.{which}({options}).values", [pull], [x], compares=True)
        return Several((values, moved(f"{{0}}.{which}({options}).indices", [NOTHING], [x])))

    return build


def _extreme(pairwise: Any, whole: Any, which: str) -> Callable[..., Term]:
    """``max`` or ``min``: of two tensors, of all elements, or the values along a dimension."""
    along = _chosen(which, f"arg{which}")

    def build(x: Term, other: Any = None, dim: Any = None, keepdim: bool = False) -> Term:
        dim = other if isinstance(other, sp.Integer) else dim
        if dim is not None:
            return along(x, dim, keepdim)
        return whole(x, WHOLE, sp.S.Zero) if other is None else pairwise(x, other)

    return build


# scanning ------------------------------------------------------------------------------------------------------------


def _cumulated(x: Term, dim: Any) -> Term:
    pull = f"{{g}}.flip({dim}).cumsum({dim}).flip({dim})"
    return moved(f"torch.cumsum({{0}}, dim={dim})", [pull], [x])


class Prod(Along):
    """The product; what goes back is the product of all others, right also where one is zero."""

    python = "torch.prod"

    @staticmethod
    def pull(g: Term, u: Term, dims: Term, kept: Term, out: Term) -> Term:
        """The product of those before, and of those after."""
        (dim,) = dims
        after = moved(f"{{0}}.flip({dim})", [], [_before(moved(f"{{0}}.flip({dim})", [], [u]), int(dim))])
        return spread(g, dims, kept) * _before(u, int(dim)) * after


def _before(u: Term, dim: int) -> Term:
    """The product of all elements before each."""
    one = moved(f"torch.ones_like({{0}}[{_at(dim, ':1')}])", [], [u])
    shifted = moved(f"torch.cat([{{0}}, {{1}}[{_at(dim, ':-1')}]], dim={dim})", [], [one, u])
    return moved(f"torch.cumprod({{0}}, dim={dim})", [], [shifted])


def _product(x: Term, dim: Any = None, keepdim: bool = False) -> Term:
    flat = moved("{0}.flatten()", ["{g}.reshape({like0}.shape)"], [x]) if dim is None else x
    return Prod(flat, sp.Tuple(0 if dim is None else dim), sp.Integer(bool(keepdim)))


# contracting ---------------------------------------------------------------------------------------------------------


def matmul(a: Term, b: Term) -> Term:
    """The product of matrices, or of batches of them; of a vector where the names say so: ``A @ x``, ``x @ A @ x``."""
    scale = a.as_coeff_Mul()[0] * b.as_coeff_Mul()[0]
    if scale != 1:
        return scale * matmul(a.as_coeff_Mul()[1], b.as_coeff_Mul()[1])
    if _ends_with(a, b) or _ends_with(b, a, at=1):
        vectors = [_by_matrix(t) if t.func is Moved else t for t in (a, b)]
        return moved("{0} @ {1}", ["{g} * {1}", "{g} * {0}"], vectors)
    if _is_matrix(a) and (name := _name(b)) and name.islower():
        return moved("{0} @ {1}", ["torch.outer({g}, {1})", "{0}.mT @ {g}"], [a, b])
    return moved("{0} @ {1}", ["{g} @ {1}.mT", "{0}.mT @ {g}"], [a, b], broadcasts=True)


def _is_matrix(term: Term) -> bool:
    """Whether its name is in capitals, as matrices are written."""
    inner = term.operands[0] if term.func is Moved and term.template in _OF_ONE_MATRIX else term
    return _name(inner)[:1].isupper()


_OF_ONE_MATRIX = ("{0}.T", "{0}.mT", "torch.tril({0}, 0)", "torch.triu({0}, 0)", "torch.linalg.inv({0})")


def _name(term: Term) -> str:
    """The name of an argument, or of one whose conjugate it is."""
    inner = term.args[0] if term.func is conj else term
    return inner.name if inner.is_Symbol else ""


def _ends_with(term: Term, x: Term, at: int = 0) -> bool:
    """Whether a term is a product of matrices that begins, or ends, with a symbol."""
    name = _name(x)
    return bool(name and term.func is Moved and "@" in term.template and _name(term.operands[at]) == name)


def _by_matrix(term: Term) -> Term:
    """``x @ A`` or ``A @ x`` for a vector ``x``."""
    a, b = term.operands
    if _is_matrix(a):
        return moved("{0} @ {1}", ["torch.outer({g}, {1})", "{0}.mT @ {g}"], [a, b])
    return moved("{0} @ {1}", ["{1} @ {g}", "torch.outer({0}, {g})"], [a, b])


def _matrix_by_vector(a: Term, v: Term) -> Term:
    return moved("torch.mv({0}, {1})", ["torch.outer({g}, {1})", "{0}.mT @ {g}"], [a, v])


def _outer(x: Term, y: Term) -> Term:
    return moved("torch.outer({0}, {1})", ["{g} @ {1}", "{0} @ {g}"], [x, y])


def _linear(x: Term, weight: Term, bias: Term = sp.S.Zero) -> Term:
    template = "torch.nn.functional.linear({0}, {1})"
    return moved(template, ["{g} @ {1}", "{g}.mT @ {0}"], [x, weight], broadcasts=True) + bias


def _cross(a: Term, b: Term, dim: Any = -1) -> Term:
    call = f"torch.linalg.cross({{}}, {{}}, dim={dim})"
    pulls = [call.format("{1}", "{g}"), call.format("{g}", "{0}")]
    return moved(call.format("{0}", "{1}"), pulls, [a, b], broadcasts=True)


def _einsum(equation: str, *operands: Term) -> Term:
    """Sums of products by their indices; what goes back is one too."""
    terms = operands[0] if len(operands) == 1 and isinstance(operands[0], tuple) else operands
    left, arrow, right = equation.replace(" ", "").partition("->")
    inner = left.split(",")
    if not arrow or "." in equation or any(len(set(i)) < len(i) for i in inner):
        raise TypeError("the equation needs ->, no ellipsis, and each index once in an operand")
    holes = ", ".join(f"{{{at}}}" for at in range(len(terms)))
    return moved(
        f'torch.einsum("{left}->{right}", {holes})', [_contracted(inner, right, at) for at in range(len(inner))], terms
    )


def _contracted(inner: list[str], right: str, at: int) -> str:
    """The pull of one operand of einsum; an index that it alone has was summed, and is broadcast."""
    others = [(index, f"{{{n}}}") for n, index in enumerate(inner) if n != at]
    others += [
        (index, f"torch.ones_like({{like{at}}})")
        for index in [inner[at]]
        if set(index) - set(right + "".join(i for i, _ in others))
    ]
    indices = ",".join([right, *(index for index, _ in others)])
    return f'torch.einsum("{indices}->{inner[at]}", {", ".join(["{g}", *(hole for _, hole in others)])})'


def _trace(x: Term) -> Term:
    return moved("torch.trace({0})", ["torch.diag({g}.expand({like0}.shape[0]))"], [x])


def _diagonal(x: Term) -> Term:
    pull = "torch.zeros_like({like0}).diagonal_scatter({g})"
    return moved("{0}.diagonal()", [pull], [x])


_det = _one("torch.linalg.det({0})", "({g} * {out}).unsqueeze(-1).unsqueeze(-1) * torch.linalg.inv({0}).mT")
_logdet = _one("torch.logdet({0})", "{g}.unsqueeze(-1).unsqueeze(-1) * torch.linalg.inv({0}).mT")
_inverse = _one("torch.linalg.inv({0})", "-{out}.mT @ {g} @ {out}.mT")


def _solved(a: Term, b: Term) -> Term:
    back = "torch.linalg.solve({0}.mT, {g})"
    if _name(b).islower() and all(s.name[0].isupper() for s in a.free_symbols - {CONSTANT}):
        return moved("torch.linalg.solve({0}, {1})", [f"-torch.outer({back}, {{out}})", back], [a, b])
    return moved("torch.linalg.solve({0}, {1})", [f"-{back} @ {{out}}.mT", back], [a, b], broadcasts=True)


def sized(x: Term, dim: Any = None) -> Term:
    """The number of elements, or of one dimension."""
    return count(x, WHOLE if dim is None else sp.Tuple(dim))


ATTRIBUTES: dict[str, Callable[[Term], Term]] = {
    "T": _one("{0}.T", "{g}.T"),
    "mT": _one("{0}.mT", "{g}.mT"),
}
"""Attributes of tensors that formulas may name."""

STRUCTURE: dict[str, tuple[str, Callable[..., Term]]] = {
    "select": ("torch.select", select),
    "unsqueeze": ("torch.unsqueeze", _unsqueeze),
    "squeeze": ("torch.squeeze", _squeezed),
    "diff": ("torch.diff", _diff),
    "t": ("torch.t", ATTRIBUTES["T"]),
    "transpose": ("torch.transpose", _swapped),
    "swapaxes": ("torch.swapaxes", _swapped),
    "permute": ("torch.permute", _permuted),
    "reshape": ("torch.reshape", _shaped("reshape", _BACK)),
    "view": ("view", _shaped("view", _BACK)),
    "flatten": ("torch.flatten", _flattened),
    "ravel": ("torch.ravel", _one("{0}.flatten()", "{g}.reshape({like0}.shape)")),
    "contiguous": ("contiguous", lambda x: x),
    "expand": ("expand", _shaped("expand", "{g}.sum_to_size({like0}.shape)")),
    "flip": ("torch.flip", _flipped),
    "roll": ("torch.roll", _rolled),
    "tril": ("torch.tril", _triangle("tril")),
    "triu": ("torch.triu", _triangle("triu")),
    "max": ("torch.max", _extreme(f.maximum, Amax, "max")),
    "min": ("torch.min", _extreme(f.minimum, Amin, "min")),
    "stack": ("torch.stack", _stacked),
    "cat": ("torch.cat", _joined),
    "concat": ("torch.concat", _joined),
    "cumsum": ("torch.cumsum", _cumulated),
    "prod": ("torch.prod", _product),
    "matmul": ("torch.matmul", matmul),
    "mm": ("torch.mm", matmul),
    "bmm": ("torch.bmm", matmul),
    "mv": ("torch.mv", _matrix_by_vector),
    "outer": ("torch.outer", _outer),
    "inner": ("torch.inner", lambda x, y: Summed(x * y, sp.Tuple(-1), sp.S.Zero)),
    "linear": ("torch.nn.functional.linear", _linear),
    "addmm": ("torch.addmm", lambda x, a, b, beta=1, alpha=1: beta * x + alpha * matmul(a, b)),
    "baddbmm": ("torch.baddbmm", lambda x, a, b, beta=1, alpha=1: beta * x + alpha * matmul(a, b)),
    "cross": ("torch.linalg.cross", _cross),
    "einsum": ("torch.einsum", _einsum),
    "trace": ("torch.trace", _trace),
    "diagonal": ("torch.diagonal", _diagonal),
    "det": ("torch.linalg.det", _det),
    "logdet": ("torch.logdet", _logdet),
    "inv": ("torch.linalg.inv", _inverse),
    "inverse": ("torch.inverse", _inverse),
    "solve": ("torch.linalg.solve", _solved),
    "size": ("size", sized),
    "numel": ("torch.numel", sized),
}
"""How formulas call them, how that is spelled in full, and what it means."""
