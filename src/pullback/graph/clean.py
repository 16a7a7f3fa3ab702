"""Graphs without what means nothing for values: detached copies, writing in place, equal nodes twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch.fx.passes.dialect.common.cse_pass import CSEPass

_VIEWS = ("view", "_unsafe_view")
_SAME = {torch.ops.aten.detach.default, torch.ops.aten.alias.default, torch.ops.aten.lift_fresh_copy.default}


def settled(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """The graph with detached copies replaced by what they copy, and operations in place by their plain form."""
    for node in list(module.graph.nodes):
        if node.target in _SAME and isinstance(node.args[0], torch.fx.Node):
            node.replace_all_uses_with(node.args[0])
            module.graph.erase_node(node)
        elif node.op == "call_function":
            node.target = _plain(node.target)
            if node.target is torch.ops.aten.copy.default and _alike(node.args[0], node.args[1]):
                node.replace_all_uses_with(node.args[1])
    module.recompile()
    return module


def _alike(one: torch.fx.Node, other: torch.fx.Node) -> bool:
    """Whether two nodes have one shape and dtype."""
    a, b = one.meta["val"], other.meta["val"]
    return bool(a.dtype == b.dtype and a.shape == b.shape)


def _plain(target: object) -> object:
    """The operation that returns what one in place writes."""
    schema = getattr(target, "_schema", None)
    space, _, name = schema.name.partition("::") if schema is not None else ("", "", "")
    if space != "aten" or schema is None:
        return target
    if name in _VIEWS:
        return torch.ops.aten.reshape.default  # strides at run time may be others
    if not name.endswith("_") or name.startswith("_") or not schema.is_mutable:
        return target
    packet = getattr(torch.ops.aten, name.removesuffix("_"), None)
    overload = getattr(target, "_overloadname", "default")
    return getattr(packet, overload, target)


def merged(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """The graph with equal nodes merged and unused ones dropped; placeholders keep their names."""
    names = [node.meta.get("parameter") for node in module.graph.find_nodes(op="placeholder")]
    module.graph.eliminate_dead_code()
    result = CSEPass()(module)
    module = result.graph_module if result is not None else module
    for node, name in zip(module.graph.find_nodes(op="placeholder"), names, strict=True):
        node.meta["parameter"] = name
    module.recompile()
    return module


def users_of(
    nodes: Iterable[torch.fx.Node], through: Callable[[torch.fx.Node], bool] = lambda _: True
) -> set[torch.fx.Node]:
    """The nodes and all that depends on them, short of the output, by way of nodes ``through`` which to go."""
    reached = set(nodes)
    todo = list(reached)
    while todo:
        fresh = [u for u in todo.pop().users if u not in reached and u.op != "output" and through(u)]
        reached.update(fresh)
        todo.extend(fresh)
    return reached
