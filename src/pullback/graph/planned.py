"""The way of plans: calls with many elements keep what the plan says, where that is less than what the rules name."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from pullback._torch import autocast_kind, function_modes, without_values
from pullback.define.call import Call
from pullback.define.eager import Shape, shape_of
from pullback.define.function import Function
from pullback.define.strict import reraise
from pullback.define.ways import FORESIGHT, WAYS
from pullback.errors import PullbackError
from pullback.graph.closed import holds, open_because, rules_below, scalars

if TYPE_CHECKING:
    from pullback.graph.plan import Plan

Entry = Callable[..., Any]
_log = logging.getLogger("pullback")

LIMIT = 1024
"""Calls in which no tensor has more elements stay as they are: packing would take longer than it is worth."""


def planned(function: Function[..., Any], shape: Shape, needed: tuple[str, ...], eager: Entry) -> Entry:
    """What serves calls with ``needed``: the plan for large tensors, where there is a better one than the eager way."""
    if not needed or function.keep == "named" or shape.hidden or shape.objects or shape.opaque:
        return eager
    if not any(want in (*shape.tensors, *shape.kept, "out") for want in function.wanted(needed)):
        return eager
    places = [i for i, name in enumerate(function.params) if name in shape.tensors]
    plans = _Plans(function, needed, eager)

    def call(*values: Any) -> Any:
        for i in places:
            if values[i].numel() > LIMIT and not function_modes():  # a mode would see the tracing
                return plans.way(values)(*values)
        return eager(*values)

    call.few = eager  # type: ignore[attr-defined]
    return call


def few_elements(entry: Entry) -> Entry:
    """What serves calls with few elements, without asking how many there are again."""
    few: Entry = getattr(entry, "few", entry)
    return few


def foresee(function: Function[..., Any], values: Sequence[Any]) -> Shape | None:
    """What a first call with large tensors will show, by a run of closed code on tensors without values."""
    large = any(isinstance(v, torch.Tensor) and v.numel() > LIMIT for v in values)
    if not large or function.keep == "named" or function_modes() or open_because(function):
        return None
    return shown(function, values)


def shown(function: Function[..., Any], values: Sequence[Any]) -> Shape | None:
    """What a call of closed code shows, by a run on tensors without values."""
    try:
        with without_values(values) as stand_ins:
            call = Call(function, stand_ins)
            call.forward(call.tensors)
    except Exception:  # the real call will say what is wrong
        return None
    return shape_of(call)


class _Plans:
    """The plans of one Function for one set of needed arguments, by what they hold for."""

    def __init__(self, function: Function[..., Any], needed: tuple[str, ...], eager: Entry) -> None:
        self.function, self.needed, self.eager = function, needed, eager
        self.ways: dict[Any, Callable[[Sequence[Any]], Entry]] = {}
        self.reason = open_because(function)
        self.outside = scalars(function) if not self.reason else tuple

    def way(self, values: Sequence[Any]) -> Entry:
        """What serves a call with these values."""
        if self.reason:
            return self.eager
        numbers = tuple(repr(v) for v in values if type(v) is float) if self.function.keep == "small" else ()
        key = kind_of(values), numbers, self.outside(), autocast_kind()
        if key not in self.ways:
            self.ways[key] = self._make(values)
        return self.ways[key](values)

    def _make(self, values: Sequence[Any]) -> Callable[[Sequence[Any]], Entry]:
        from pullback.graph.execute import executor

        try:
            choice = choose(self.function, self.needed, values)
        except Exception as error:  # the eager rules serve whatever PyTorch's tracer cannot do
            reraise(error)
            choice = Choice(None, f"{type(error).__name__}: {error}")
        if choice.plan is None:
            _log.info("%s keeps what its rules name: %s", self.function.name, choice.reason)
            return lambda _: self.eager
        way = executor(self.function, choice.plan)
        if not choice.plan.guards:
            return lambda _: way
        places = [self.function.params.index(n) for n in choice.plan.numbers]
        held = holds(choice.plan.guards, choice.plan.numbers)
        return lambda values: way if held(*(values[i] for i in places)) else self.eager


@dataclass(frozen=True)
class Choice:
    """The plan that serves calls, or the reason why the rules keep what they name."""

    plan: Plan | None
    reason: str
    rejected: Plan | None = None  # the one that keeps no less


def choose(function: Function[..., Any], needed: Sequence[str], values: Sequence[Any]) -> Choice:
    """The plan for calls like one with these values, if it keeps less than the eager rules do, or the output instead.

    >>> import pullback as pb
    >>> double = pb.function(lambda x: x * torch.sigmoid(x))
    >>> choose(double.__pullback__, ["x"], [torch.ones(9)]).reason
    'the rules name nothing that could be left out'
    """
    from pullback.graph.plan import plan

    try:
        bare = [v.detach() if isinstance(v, torch.Tensor) else v for v in values]
        with torch.no_grad(), torch.autograd.graph.saved_tensors_hooks(_same, _same):  # nobody's hooks see tracing
            made = plan(function, needed, bare, function.keep)
    except PullbackError as error:
        return Choice(None, f"{error.required}; {error.got}")
    if any(r.source == "value" for r in made.residuals):
        return Choice(None, "an intermediate would have to be kept, through which no second derivative goes", made)
    below = rules_below(function)
    if below:
        return Choice(None, f"a second derivative goes by the rules of {', '.join(below)}, which a rule calls", made)
    before = named_bits(function, needed, made)
    outputs = any(r.source == "output" for r in made.residuals) and "out" not in function.wanted(tuple(needed))
    if made.keep == "small" or made.bits < before or (made.bits == before and outputs):
        return Choice(made, "")
    return Choice(None, "the rules name nothing that could be left out", made)


def _same(tensor: torch.Tensor) -> torch.Tensor:
    return tensor


def named_bits(function: Function[..., Any], needed: Sequence[str], plan: Plan) -> float:
    """What the rules name, in bits for each element of the output."""
    return sum(plan.named.get(name, 0.0) for name in function.wanted(tuple(needed)))


def kind_of(values: Sequence[Any]) -> tuple[Any, ...]:
    """What a plan depends on: types, dtypes, devices, layouts, which sizes are one or equal; not numbers' values."""
    places: dict[int, int] = {1: -1}
    key: list[Any] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            sizes = tuple(places.setdefault(n, len(places)) for n in value.shape)
            key.append((value.dtype, value.device, value.layout, sizes))
        else:
            key.append(type(value) if type(value) is float else (type(value), value))
    return tuple(key)


FORESIGHT.append(foresee)
WAYS.append(planned)
