"""What is kept from forward to backward: the least from which the gradient comes out as written.

The one graph of forward and rules is cut in two where the fewest bits cross. An argument, the output, a condition
(one bit for each element) or any intermediate may cross; what is not kept is computed again from what is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from pullback._torch import hint
from pullback.graph.clean import users_of
from pullback.graph.codes import encoded
from pullback.graph.cut import bits_of, cheapest
from pullback.graph.extract import extract
from pullback.graph.pair import Pair, pair

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
    """

    name: str
    source: str
    bits: float
    rules: tuple[str, ...]


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

    @property
    def bits(self) -> float:
        """What is kept in all, in bits for each element of the output."""
        return sum(r.bits for r in self.residuals)

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
        keep: ``"lossless"``: the gradient comes out as written.

    Raises:
        TraceError: Where forward or a rule cannot be traced.

    >>> import pullback as pb
    >>> relu = pb.function(lambda x: torch.where(x > 0, x, 0))
    >>> [(r.source, r.bits) for r in plan(relu.__pullback__, ["x"], [torch.ones(8)]).residuals]
    [('bits', 1.0)]
    """
    whole = pair(function, needed, inputs)
    code = encoded(whole, cheapest(whole))
    kept = code.kept
    made = [n for n in kept if n not in whole.arguments.values() and n not in whole.outputs]
    numbers = list(whole.numbers.values())
    arguments = list(whole.arguments.values())
    return Plan(
        function=function.name,
        needed=tuple(needed),
        arguments=tuple(whole.arguments),
        numbers=tuple(whole.numbers),
        forward=extract(whole.module, [*arguments, *numbers], [*whole.outputs, *made]),
        backward=extract(whole.module, [*kept, *whole.cotangents, *numbers], whole.gradients, code.instead),
        encode=extract(whole.module, [*arguments, *whole.outputs, *numbers], made),
        residuals=tuple(_residual(whole, needed, node, code.instead) for node in kept),
        outputs=len(whole.outputs),
        named={name: bits / _elements(whole) for name, bits in whole.named.items()},
        bound=whole.bound,
        guards=whole.guards,
        keep=keep,
    )


def _residual(whole: Pair, needed: Sequence[str], node: Node, instead: Mapping[Node, Node]) -> Residual:
    names = {n: name for name, n in whole.arguments.items()}
    outputs = {n: f"out_{i}" if i else "out" for i, n in enumerate(whole.outputs)}
    tensor = isinstance(node.meta["val"], torch.Tensor)
    source = (
        "argument" if node in names
        else "output" if node in outputs
        else "size" if not tensor
        else "bits" if node.meta["val"].dtype == torch.bool
        else "value"
    )  # fmt: skip
    name = names.get(node) or outputs.get(node) or node.name
    return Residual(name, source, bits_of(node) / _elements(whole), _users(whole, needed, node, instead))


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
