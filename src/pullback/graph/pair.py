"""Forward and backward of a Function for the arguments that need a gradient, as one graph to be cut in two."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from pullback._torch import pytree
from pullback.define.derivative import flat_outputs
from pullback.define.fit import fit, like
from pullback.define.function import Function
from pullback.define.keep import Kept, run_forward
from pullback.define.rule import Rule
from pullback.define.split import split
from pullback.errors import TraceError
from pullback.graph.clean import merged, settled
from pullback.graph.joint import COTANGENT
from pullback.graph.trace import record

Node = torch.fx.Node


@dataclass(frozen=True)
class Pair:
    """One graph from arguments, numbers and cotangents to outputs and gradients.

    Args:
        module: The graph.
        arguments: The placeholder of each tensor argument, by name.
        numbers: The placeholder of each number, by name.
        cotangents: The placeholder of each output's cotangent, in order.
        outputs: The nodes of the outputs.
        gradients: The node of the gradient of each needed argument; ``None`` where it is zero.
        guards: What was decided about numbers.
    """

    module: torch.fx.GraphModule
    arguments: dict[str, Node]
    numbers: dict[str, Node]
    cotangents: tuple[Node, ...]
    outputs: tuple[Node, ...]
    gradients: tuple[Node | None, ...]
    guards: tuple[str, ...]


def pair(function: Function[..., Any], needed: Sequence[str], inputs: Sequence[Any]) -> Pair:
    """The graph of a Function and of its rules for the needed arguments.

    Args:
        function: The Function.
        needed: The arguments that need a gradient.
        inputs: One value for each parameter.

    Raises:
        TraceError: Where forward or a rule cannot be traced.
    """
    given = dict(zip(function.params, inputs, strict=True))
    _check_plain(function, given)
    with torch.no_grad():
        cotangents = [torch.ones_like(o) for o in flat_outputs(_forward(function, given))[1]]
    names = [COTANGENT + (f"_{i}" if i else "") for i in range(len(cotangents))]

    def call(**values: Any) -> tuple[Any, ...]:
        gs = [values.pop(n) for n in names]
        return _both(function, tuple(needed), {**given, **values}, gs)

    traced = {**given, **dict(zip(names, cotangents, strict=True))}
    module, guards = record(function.name, call, traced)
    return _read(merged(settled(module)), names, len(needed), guards)


def _check_plain(function: Function[..., Any], given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        if not isinstance(value, torch.Tensor) and any(
            isinstance(v, (torch.Tensor, torch.nn.Module)) for v in pytree.tree_leaves(value)
        ):
            got = f"argument {name!r}, a {type(value).__name__}"
            raise TraceError(function.name, "tensors must be arguments of their own", got, "pass them one by one")


def _forward(function: Function[..., Any], given: Mapping[str, Any]) -> Any:
    return run_forward(function.by_name, (), dict(given))


def _both(
    function: Function[..., Any], needed: tuple[str, ...], given: Mapping[str, Any], gs: Sequence[Any]
) -> tuple[Any, ...]:
    """The outputs and what the rules return, made to fit."""
    result = _forward(function, given)
    out, kept = (result.out, result.named) if isinstance(result, Kept) else (result, {})
    structure, outputs = split(("out",), [out])
    values = {**given, **kept, "out": out}
    g = structure.join(gs)["out"]
    found: dict[str, Any] = {}
    for rule, fn, args in function.plan(needed):
        returned = fn(g, *(values[want] for want in rule.wants))
        found.update(zip(args, returned if len(args) > 1 else (returned,), strict=True))
        found.update({a: fit(_who(function, rule, a), found[a], like(given[a])) for a in args if a in needed})
    return *outputs, *(found.get(name) for name in needed)


def _who(function: Function[..., Any], rule: Rule, arg: str) -> Callable[[], str]:
    return lambda: rule.who(function.name, [arg])


def _read(module: torch.fx.GraphModule, cotangents: Sequence[str], needed: int, guards: tuple[str, ...]) -> Pair:
    places = {node.meta["parameter"]: node for node in module.graph.find_nodes(op="placeholder")}
    (end,) = module.graph.find_nodes(op="output")
    results = tuple(end.args[0]) if isinstance(end.args[0], (tuple, list)) else (end.args[0],)
    tensor = {n: isinstance(p.meta["val"], torch.Tensor) for n, p in places.items()}
    return Pair(
        module=module,
        arguments={n: p for n, p in places.items() if tensor[n] and n not in cotangents},
        numbers={n: p for n, p in places.items() if not tensor[n]},
        cotangents=tuple(places[n] for n in cotangents),
        outputs=results[: len(results) - needed],
        gradients=results[len(results) - needed :],
        guards=guards,
    )
