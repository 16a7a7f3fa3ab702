"""Graphs without what means nothing for values: detached copies, writing in place, equal nodes twice."""

from __future__ import annotations

import torch
from torch.fx.passes.dialect.common.cse_pass import CSEPass

_SAME = {torch.ops.aten.detach.default, torch.ops.aten.alias.default, torch.ops.aten.lift_fresh_copy.default}


def settled(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """The graph with detached copies replaced by what they copy, and operations in place by their plain form."""
    for node in list(module.graph.nodes):
        if node.target in _SAME and isinstance(node.args[0], torch.fx.Node):
            node.replace_all_uses_with(node.args[0])
            module.graph.erase_node(node)
        elif node.op == "call_function":
            node.target = _plain(node.target)
    module.recompile()
    return module


def _plain(target: object) -> object:
    """The operation that returns what one in place writes."""
    schema = getattr(target, "_schema", None)
    space, _, name = schema.name.partition("::") if schema is not None else ("", "", "")
    if space != "aten" or not name.endswith("_") or name.startswith("_") or not schema.is_mutable:
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
