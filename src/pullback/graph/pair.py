"""Forward and backward of a Function for the arguments that need a gradient, as one graph to be cut in two."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from pullback._torch import empty_like, pytree, without_values
from pullback.define import recording
from pullback.define.fit import fit, like
from pullback.define.function import Function
from pullback.define.keep import Kept, run_forward
from pullback.define.rule import Rule
from pullback.define.split import Split, split
from pullback.errors import TraceError
from pullback.graph.clean import merged, settled, users_of
from pullback.graph.joint import COTANGENT
from pullback.graph.signs import signs_as_conditions
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
        named: The bits, as they are, of all that rules can name: each argument, ``out``, and what forward keeps.
        bound: The arguments that a second derivative gives something to, if only zero.
    """

    module: torch.fx.GraphModule
    arguments: dict[str, Node]
    numbers: dict[str, Node]
    cotangents: tuple[Node, ...]
    outputs: tuple[Node, ...]
    gradients: tuple[Node | None, ...]
    guards: tuple[str, ...] = ()
    named: dict[str, float] = field(default_factory=dict)
    bound: tuple[str, ...] = ()


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
    sample = _sample(function, given)
    cotangents = {COTANGENT + (f"_{i}" if i else ""): torch.empty_like(o) for i, o in enumerate(sample.flat)}
    seen = {_SEEN + n: v for n, v in _named(function, tuple(needed), {**given, **sample.named}).items()}

    def call(**values: Any) -> tuple[Any, ...]:
        gs = [values.pop(n) for n in cotangents]
        views = {n: values.pop(_SEEN + n) for n in sample.named | given if _SEEN + n in values}
        with recording.off():  # Functions that it calls, too, are what they compute, not operators
            return both(function, tuple(needed), {**given, **values}, gs, views)

    module, guards = record(function.name, call, {**given, **cotangents, **seen})
    module = _joined(merged(settled(module)), sample)
    own = [a for rule, _, args in function.plan(tuple(needed)) if function.is_own(rule) for a in args]
    bound = tuple(name for name in given if name in own or _leads_to_gradients(module, name, len(sample.flat)))
    module = signs_as_conditions(module, cotangents)
    return replace(_read(module, list(cotangents)), guards=guards, named=sample.sizes(given), bound=bound)


def _sample(function: Function[..., Any], given: Mapping[str, Any]) -> _Run:
    """What a run shows, without running it on values."""
    try:
        with without_values(given.values()) as stand_ins:
            run = _Run.of(function, dict(zip(given, stand_ins, strict=True)))
    except Exception as error:
        got = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        raise TraceError(function.name, "it must run on tensors without values", got, "check the arguments") from error
    return run.alike()


_SEEN = "seen by rules: "
"""Marks what rules see: another placeholder than forward's, so that what a rule computes is not taken for forward's.

A rule may compute what forward computes and mean something else by it: only its first derivative is the author's.
"""


@dataclass(frozen=True)
class _Run:
    """What one run of forward has shown: the output's structure and tensors, and every tensor by the name of it."""

    structure: Split
    flat: list[torch.Tensor]
    named: dict[str, Any]

    @classmethod
    def of(cls, function: Function[..., Any], given: Mapping[str, Any]) -> _Run:
        result = run_forward(function.by_name, (), dict(given))
        out, kept = (result.out, result.named) if isinstance(result, Kept) else (result, {})
        structure, flat = split(("out",), [out])
        outputs = {f"out_{i}" if i else "out": o for i, o in enumerate(flat)}
        return cls(structure, flat, {**outputs, **{n: v for n, v in kept.items() if isinstance(v, torch.Tensor)}})

    def alike(self) -> _Run:
        """The same with tensors of the same kind instead."""
        made = {id(t): empty_like(t) for t in (*self.flat, *self.named.values())}
        named = {name: made[id(t)] for name, t in self.named.items()}
        return _Run(self.structure, [made[id(t)] for t in self.flat], named)

    def sizes(self, given: Mapping[str, Any]) -> dict[str, float]:
        """The bits of all that rules can name."""
        tensors = {n: v for n, v in (*given.items(), *self.named.items()) if isinstance(v, torch.Tensor)}
        bits = {name: float(8 * t.numel() * t.element_size()) for name, t in tensors.items()}
        return {**bits, "out": float(sum(8 * t.numel() * t.element_size() for t in self.flat))}


def _named(function: Function[..., Any], needed: tuple[str, ...], known: Mapping[str, Any]) -> dict[str, Any]:
    """The tensors that rules, other than the derivative of the forward, name."""
    rules = [rule for rule, _, _ in function.plan(needed) if not function.is_own(rule)]
    outputs = [n for n in known if n == "out" or n.startswith("out_")]
    wants = [w for rule in rules for want in rule.wants for w in (outputs if want == "out" else [want])]
    return {w: known[w].detach() for w in dict.fromkeys(wants) if isinstance(known.get(w), torch.Tensor)}


def _joined(module: torch.fx.GraphModule, sample: _Run) -> torch.fx.GraphModule:
    """What rules see becomes what forward got, gave and kept."""
    (end,) = module.graph.find_nodes(op="output")
    results = list(end.args[0])
    places = {node.meta["parameter"]: node for node in module.graph.find_nodes(op="placeholder")}
    known = {**places, **dict(zip(sample.named, results, strict=False))}
    for name, node in places.items():
        if name.startswith(_SEEN):
            node.replace_all_uses_with(known[name.removeprefix(_SEEN)])
            module.graph.erase_node(node)
    (end,) = module.graph.find_nodes(op="output")
    results = list(end.args[0])
    end.args = ((*results[: len(sample.flat)], *results[len(sample.named) :]),)
    module.graph.eliminate_dead_code()
    module.recompile()
    return module


def _check_plain(function: Function[..., Any], given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        if not isinstance(value, torch.Tensor) and any(
            isinstance(v, (torch.Tensor, torch.nn.Module)) for v in pytree.tree_leaves(value)
        ):
            got = f"argument {name!r}, a {type(value).__name__}"
            raise TraceError(function.name, "tensors must be arguments of their own", got, "pass them one by one")


def both(
    function: Function[..., Any],
    needed: tuple[str, ...],
    given: Mapping[str, Any],
    gs: Sequence[Any],
    views: Mapping[str, Any],
) -> tuple[Any, ...]:
    """The outputs, what is kept, and what the rules return, made to fit."""
    run = _Run.of(function, given)
    g = run.structure.join(gs)["out"]
    seen = {**given, **run.named, **views}
    seen["out"] = run.structure.join(seen[f"out_{i}" if i else "out"] for i in range(len(run.flat)))["out"]
    found: dict[str, Any] = {}
    for rule, fn, args in function.plan(needed):
        values = given if function.is_own(rule) else seen
        returned = fn(g, *(values[want] for want in rule.wants))
        found.update(zip(args, returned if len(args) > 1 else (returned,), strict=True))
        found.update({a: fit(_who(function, rule, a), found[a], like(given[a])) for a in args if a in needed})
    return *run.named.values(), *(found.get(name) for name in needed)


def _who(function: Function[..., Any], rule: Rule, arg: str) -> Callable[[], str]:
    return lambda: rule.who(function.name, [arg])


def _leads_to_gradients(module: torch.fx.GraphModule, name: str, outputs: int) -> bool:
    """Whether a gradient depends on an argument otherwise than by conditions."""
    (end,) = module.graph.find_nodes(op="output")
    start = [n for n in module.graph.find_nodes(op="placeholder") if n.meta["parameter"] == name]
    reached = users_of(start, lambda n: getattr(n.meta.get("val"), "dtype", None) != torch.bool)
    return not reached.isdisjoint(end.args[0][outputs:])


def _read(module: torch.fx.GraphModule, cotangents: Sequence[str]) -> Pair:
    places = {node.meta["parameter"]: node for node in module.graph.find_nodes(op="placeholder")}
    (end,) = module.graph.find_nodes(op="output")
    results = tuple(end.args[0])
    outputs = len(cotangents)
    tensor = {n: isinstance(p.meta.get("val"), torch.Tensor) for n, p in places.items()}
    return Pair(
        module=module,
        arguments={n: p for n, p in places.items() if tensor[n] and n not in cotangents},
        numbers={n: p for n, p in places.items() if not tensor[n]},
        cotangents=tuple(places[n] for n in cotangents),
        outputs=results[:outputs],
        gradients=results[outputs:],
    )
