"""What is kept from forward to backward: the least from which the gradient comes out as written.

The one graph of forward and rules is cut in two where the fewest bits cross. An argument, the output, a condition
(one bit for each element) or any intermediate may cross; what is not kept is computed again from what is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from pullback._torch import hint
from pullback.graph.clean import users_of
from pullback.graph.codes import Code, encoded, insert
from pullback.graph.cut import LOSSLESS, bits_of, cheapest, kind_of
from pullback.graph.extract import ancestors, extract
from pullback.graph.inverse import Inverse, Refused
from pullback.graph.pair import Pair, pair
from pullback.graph.small import by_output, decoder

if TYPE_CHECKING:
    from pullback.define.function import Function

Node = torch.fx.Node


@dataclass(frozen=True)
class Residual:
    """One value that crosses from forward to backward.

    Args:
        name: The argument's name, ``out`` (``out_1`` for the second output), or that of the value.
        source: ``argument`` or ``output``, which are at hand; ``bits`` (a boolean tensor, to be packed), ``value``
            (any other tensor) or ``size`` (a Python integer), which forward makes.
        bits: What it takes for each element of the output.
        rules: The arguments whose gradients use it.
        shape: The shape it had in the call that was planned.
        dtype: Its dtype; ``None`` for a size.
    """

    name: str
    source: str
    bits: float
    rules: tuple[str, ...]
    shape: tuple[int, ...] = ()
    dtype: torch.dtype | None = None


@dataclass(frozen=True)
class Plan:
    """How forward and backward of a Function share the work.

    Args:
        function: The Function's name.
        needed: The arguments that get gradients.
        arguments: All tensor arguments, in order.
        numbers: All Python numbers among the arguments, in order.
        forward: Arguments, then numbers, to the outputs, then one value for each residual that forward makes.
        backward: One value for each residual, then the cotangents, then the numbers, to one gradient for each needed
            argument: reduced to its shape, or ``None`` for zero.
        encode: Arguments, then outputs, then numbers, to the residuals that forward makes: for a forward that is run
            as its author wrote it.
        residuals: What crosses.
        outputs: How many tensors the output has.
        named: What each name that rules can use takes as it is, in bits for each element of the output.
        bound: The arguments that a second derivative gives something to, if only zero.
        guards: What was decided about numbers; the graphs hold where these hold.
        keep: ``lossless`` or ``small``.
        candidates: What else could be kept.
        error: The largest error of the slope that was met; zero if the gradient comes out as written.
        inverse: With ``small``: the slope as a function of the output.
        refused: Why ``small`` was asked for in vain.
    """

    function: str
    needed: tuple[str, ...]
    arguments: tuple[str, ...]
    numbers: tuple[str, ...]
    forward: torch.fx.GraphModule
    backward: torch.fx.GraphModule
    encode: torch.fx.GraphModule
    residuals: tuple[Residual, ...]
    outputs: int
    named: dict[str, float]
    bound: tuple[str, ...] = ()
    guards: tuple[str, ...] = ()
    keep: str = "lossless"
    candidates: tuple[Candidate, ...] = ()
    error: float = 0.0
    inverse: Inverse | None = None
    refused: str = ""

    @property
    def bits(self) -> float:
        """What is kept in all, in bits for each element of the output."""
        return sum(r.bits for r in self.residuals)

    @property
    def kind(self) -> str:
        """The kind of candidate that it is; arguments with few elements do not count."""
        sources = {r.source for r in self.residuals if r.bits >= _WORTH_COUNTING}
        return next((what for what, among in _KINDS.items() if sources == set(among)), "a mix of these")

    @property
    def made(self) -> tuple[Residual, ...]:
        """The residuals that forward makes; the others are arguments or outputs."""
        return tuple(r for r in self.residuals if r.source not in ("argument", "output"))


def plan(function: Function[..., Any], needed: Sequence[str], inputs: Sequence[Any], keep: str = "lossless") -> Plan:
    """The plan that keeps the least for the gradients of the needed arguments.

    Args:
        function: A Function, with rules or without.
        needed: The arguments that need a gradient.
        inputs: One value for each of its parameters, of the kinds, dtypes and shapes that the plan is for.
        keep: ``"lossless"``: the gradient comes out as written; ``"small"``: read off the output, if that will do.

    Raises:
        TraceError: Where forward or a rule cannot be traced.

    >>> import pullback as pb
    >>> relu = pb.function(lambda x: torch.where(x > 0, x, 0))
    >>> [(r.source, r.bits) for r in plan(relu.__pullback__, ["x"], [torch.ones(8)]).residuals]
    [('bits', 1.0)]
    """
    whole = pair(function, needed, inputs)
    found = cheapest(whole)
    code = encoded(whole, found if found is not None else cheapest(whole, [*LOSSLESS, "value"]) or [])
    made = _assembled(function, needed, whole, code)
    if keep == "small" and any(r.source == "argument" and r.bits > 1 for r in made.residuals):
        small = by_output(function, needed, inputs, whole)
        if isinstance(small, Refused):
            return replace(made, refused=small.reason)
        return _small(made, whole, small)
    return made


def _assembled(function: Function[..., Any], needed: Sequence[str], whole: Pair, code: Code) -> Plan:
    """The plan that keeps these nodes."""
    made = [n for n in code.kept if kind_of(whole, n) not in ("argument", "output")]
    numbers, arguments = list(whole.numbers.values()), list(whole.arguments.values())
    return Plan(
        function=function.name,
        needed=tuple(needed),
        arguments=tuple(whole.arguments),
        numbers=tuple(whole.numbers),
        forward=extract(whole.module, [*arguments, *numbers], [*whole.outputs, *made]),
        backward=extract(whole.module, [*code.kept, *whole.cotangents, *numbers], whole.gradients, code.instead),
        encode=extract(whole.module, [*arguments, *whole.outputs, *numbers], made),
        residuals=tuple(_residual(whole, needed, node, code.instead) for node in code.kept),
        outputs=len(whole.outputs),
        named={name: bits / _elements(whole) for name, bits in whole.named.items()},
        bound=whole.bound,
        guards=whole.guards,
        candidates=_candidates(whole),
    )


def _small(made: Plan, whole: Pair, small: Inverse) -> Plan:
    """The plan that keeps the output, and on which side of the turning point the argument was."""
    (out,), numbers = whole.outputs, list(whole.numbers.values())
    x = whole.arguments[made.needed[0]]
    side = [] if small.turning is None else [insert(whole, torch.ops.aten.ge.Scalar, (x, small.turning))]
    kept = [_residual(whole, made.needed, node, {}) for node in (out, *side)]
    return replace(
        made,
        forward=extract(whole.module, [x, *numbers], [out, *side]),
        backward=decoder(small, [out, *side, *whole.cotangents, *numbers]),
        encode=extract(whole.module, [x, out, *numbers], side),
        residuals=tuple(replace(r, name="side" if r.source == "bits" else "out", rules=made.needed) for r in kept),
        keep="small",
        error=small.error,
        inverse=small,
    )


@dataclass(frozen=True)
class Candidate:
    """One choice of what to keep.

    Args:
        what: What it would be.
        bits: For each element of the output; ``None`` where it will not do.
        work: How many operations backward does again or in addition.
    """

    what: str
    bits: float | None
    work: int = 0


_WORTH_COUNTING = 0.5
_KINDS = {
    "arguments": ("argument",),
    "output": ("output",),
    "output and conditions": ("output", "bits"),
    "conditions": ("bits",),
    "intermediates": ("value", "bits"),
}


def _candidates(whole: Pair) -> tuple[Candidate, ...]:
    """Each kind of what can be kept, with the least of it."""
    fresh = {n for gradient in whole.gradients if gradient is not None for n in ancestors([gradient])}
    found = []
    for what, among in _KINDS.items():
        small = [n for n in whole.arguments.values() if bits_of(n) * 64 <= bits_of(whole.outputs[0])]
        cut = cheapest(whole, among, free=small)
        if cut is None:
            found.append(Candidate(what, None))
            continue
        again = {n for n in fresh if n.op == "call_function" and n not in users_of(whole.cotangents)} - set(cut)
        found.append(Candidate(what, sum(map(bits_of, cut)) / _elements(whole), len(again - ancestors(cut))))
    return tuple(found)


def _residual(whole: Pair, needed: Sequence[str], node: Node, instead: Mapping[Node, Node]) -> Residual:
    names = {n: name for name, n in whole.arguments.items()}
    names |= {n: f"out_{i}" if i else "out" for i, n in enumerate(whole.outputs) if n not in names}
    bits, users = bits_of(node) / _elements(whole), _users(whole, needed, node, instead)
    value = node.meta["val"]
    shape = tuple(map(hint, value.shape)) if isinstance(value, torch.Tensor) else ()
    return Residual(
        names.get(node) or node.name, kind_of(whole, node), bits, users, shape, getattr(value, "dtype", None)
    )


def _elements(whole: Pair) -> float:
    """The elements of the first output; one if it is empty."""
    size = 1
    for dim in whole.outputs[0].meta["val"].shape:
        size *= hint(dim)
    return float(max(size, 1))


def _users(whole: Pair, needed: Sequence[str], node: Node, instead: Mapping[Node, Node]) -> tuple[str, ...]:
    """The arguments whose gradients a node goes into, itself or by what comes back from it."""
    reached = users_of([node])
    reached = users_of([node, *(condition for condition, decoder in instead.items() if decoder in reached)])
    return tuple(name for name, g in zip(needed, whole.gradients, strict=True) if g in reached)
