"""The fast way in for plain eager calls: an autograd.Function written and compiled for one Function.

A generated class has exactly the code that an expert would write by hand for the arguments' types and for those
that need a gradient, with the checks inline. Whatever does not fit it (a container, an output of another structure)
goes the general way, with the result that is already there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from pullback._torch import bare_apply, grad_enabled
from pullback.define import first_check, source
from pullback.define.autograd import check_captured
from pullback.define.call import Call, Residuals, add, filled
from pullback.define.captures import captures, is_plain
from pullback.define.derivative import flat_outputs
from pullback.define.fit import Like, like
from pullback.define.function import Function
from pullback.define.keep import without_kept
from pullback.define.rng import RandomState
from pullback.define.split import TENSOR, Split
from pullback.define.stacks import finish, general
from pullback.define.ways import foreseen, through_all

Entry = Callable[..., Any]


class OtherWay(Exception):  # noqa: N818 - no error: the call goes on the general way
    """Raised inside a generated forward when its result does not fit the class; carries the result."""

    def __init__(self, result: Any, state: RandomState | None = None) -> None:
        self.result, self.state = result, state


@dataclass(frozen=True)
class Shape:
    """What the first call with given argument types has shown about a Function."""

    tensors: tuple[str, ...]  # the arguments that are tensors
    plain: tuple[str, ...]  # the other arguments
    out: Split
    kept: tuple[str, ...]
    opaque: bool  # whether an argument is of a type that may hide a tensor
    hidden: tuple[str, ...]  # those of the kept that are outputs, too: a second derivative goes through them
    constant: dict[str, torch.dtype]  # those that cannot carry a gradient (masks, indices), with their dtypes
    objects: tuple[str, ...]  # those of the kept that are no tensors

    @property
    def outputs(self) -> int:
        """How many tensors the output has; it is a tuple of them unless `single`."""
        return len(self.out.owners)

    @property
    def single(self) -> bool:
        """Whether the output is a tensor."""
        return self.out.is_tensor("out")


# ---- the way in


def entry(function: Function[..., Any], types: tuple[type, ...]) -> Entry:
    """The way in for arguments of these types: general the first time, then what that call has shown to be right."""
    if first_check.wanted(function):
        return _compared(function, entry(function, types))
    if unsuitable(function, types):
        return _remember(function, types, lambda *values: general(function, values))

    def first(*values: Any) -> Any:
        expected = foreseen(function, values)
        if expected is not None:
            return _remember(function, types, _way_in(function, expected))(*values)
        call = Call(function, values)
        result = finish(function, call)
        shape = shape_of(call)
        _remember(function, types, _way_in(function, shape) if shape else lambda *vs: general(function, vs))
        return result

    return first


def _compared(function: Function[..., Any], way: Entry) -> Entry:
    """The way in after comparing the rules with the derivative of the forward, once."""

    def first(*values: Any) -> Any:
        first_check.compare(function, values)
        return way(*values)

    return first


def _remember(function: Function[..., Any], types: tuple[type, ...], way: Entry) -> Entry:
    function.entries[types] = way
    return way


def unsuitable(function: Function[..., Any], types: tuple[type, ...]) -> str:
    """Why arguments of these types cannot be served by generated code; empty if they can."""
    kinds = {p.kind.name for p in function.arguments.signature.parameters.values()}
    tensors = [t for t in types if issubclass(t, torch.Tensor)]
    if function.inplace is not None and types[function.params.index(function.inplace)] not in tensors:
        return "works in place on what is no tensor itself"
    if function.operator is not None:
        return "runs as an operator"
    if kinds & {"VAR_POSITIONAL", "VAR_KEYWORD"}:
        return "takes *args or **kwargs"
    if not tensors:
        return "no argument is a tensor itself"
    if any(issubclass(t, (list, tuple, dict, torch.nn.Module)) and t is not torch.Size for t in types):
        return "an argument is a container or a module"
    if any(t not in (torch.Tensor, torch.nn.Parameter) for t in tensors):
        return "an argument is of a tensor subclass"
    return ""


def shape_of(call: Call) -> Shape | None:
    """What a call has shown, or ``None`` if no generated class can serve such calls."""
    places = tuple(range(len(call.out.owners)))
    out = call.result(places)
    if not call.out.is_tensor("out") and (type(out) is not tuple or out != places):
        return None
    if not call.smooth:
        return None  # whether that is a mistake depends on what needs a gradient
    if any(name in call.kept.owners and not call.kept.is_tensor(name) for name in call.kept.names):
        return None  # a container with tensors in it
    if any(alias is not None for alias in call.aliases):
        return None  # what is kept is an argument or an output
    tensors = tuple(n for n in call.args.names if call.args.is_tensor(n))
    kinds = list(zip(call.kept_owners, call.kept_dtypes, strict=True))
    return Shape(
        tensors=tensors,
        plain=tuple(n for n in call.args.names if n not in tensors),
        opaque=any(not is_plain(x) for n in call.args.names for x in call.args.rest(n)),
        out=call.out,
        kept=call.kept.names,
        hidden=tuple(n for n, dtype in kinds if _smooth(dtype)),
        constant={n: dtype for n, dtype in kinds if not _smooth(dtype)},
        objects=tuple(n for n in call.kept.names if n not in call.kept.owners),
    )


def _smooth(dtype: torch.dtype) -> bool:
    return dtype.is_floating_point or dtype.is_complex


def _way_in(function: Function[..., Any], shape: Shape) -> Entry:
    classes: dict[int, Entry] = {}

    def missing(bits: int) -> Entry:
        needed = tuple(n for i, n in enumerate(shape.tensors) if bits >> i & 1)
        classes[bits] = through_all(function, shape, needed, bare_apply(_write_class(function, shape, needed)))
        return classes[bits]

    def other(way: OtherWay, *values: Any) -> Any:
        call = Call(function, values)
        call.rng = way.state
        return finish(function, call, way.result)

    def odd(result: Any) -> Any:
        """The result of a call that can ask for no gradient, when it is not a plain tensor."""
        if grad_enabled():
            check_captured(function, flat_outputs(result)[1])
        return without_kept(result)

    forward = through_all(function, shape, (), function.fn)
    helpers = {"get": classes.get, "missing": missing, "other": other, "odd": odd, "OtherWay": OtherWay}
    way = source.way_in(function, shape, forward=forward, **helpers)
    function.ways_in.append((shape, way))
    return way


# ---- the class


def _write_class(function: Function[..., Any], shape: Shape, needed: tuple[str, ...]) -> Any:
    def again(ctx: Any, saved: dict[str, Any], cotangents: Sequence[Any], of_kept: Sequence[Any]) -> tuple[Any, ...]:
        """The general backward: for second derivatives, which come through kept values or are recorded."""
        return _again(function, shape, needed, (ctx, saved, cotangents, of_kept))

    watched = bool(captures([function.fn])) or shape.opaque
    return source.autograd_class(
        function, shape, needed, watched=watched, again=again, OtherWay=OtherWay, RandomState=RandomState
    )


def _again(
    function: Function[..., Any], shape: Shape, needed: tuple[str, ...], state: tuple[Any, ...]
) -> tuple[Any, ...]:
    ctx, saved, cotangents, of_kept = state
    call = Call.restored(
        function,
        Split.flat({p: TENSOR if p in shape.tensors else saved.get(p) for p in function.params}),
        [like(saved[n]) if n in saved else _like_of(ctx, n) for n in shape.tensors],
        shape.out,
        Split.flat({n: saved.get(n) if n in shape.objects else TENSOR for n in shape.kept}),
    )
    res = Residuals(
        [saved.get(n) for n in shape.tensors],
        source.outputs_of(shape, saved.get("out")),
        [saved.get(n) for n in call.kept.owners],
    )
    mask = [n in needed for n in shape.tensors]
    total: list[Any] = [None] * len(mask)
    if any(g is not None for g in cotangents):
        likes = [Like(*fields) for fields in getattr(ctx, source.OUTPUTS, ())]
        total = call.gradients(mask, res, filled(cotangents, likes) if likes else cotangents)
    if any(g is not None for g in of_kept):
        hidden = iter(of_kept)
        gs = [next(hidden) if n in shape.hidden else None for n in call.kept.owners]
        total = add(total, call.kept_gradients(mask, res, gs))
    found = dict(zip(shape.tensors, total, strict=True))
    return tuple(found.get(p) for p in function.params)


def _like_of(ctx: Any, name: str) -> Any:
    """What the gradient of an argument that was not saved looks like; nothing if it needs none."""
    found = getattr(ctx, source.LIKE + name, None)
    return found and Like(*found)
