"""Signs in backward as what they are: two conditions, of which bits can be kept."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from pullback.graph.clean import users_of
from pullback.graph.trace import aten_name

_aten = torch.ops.aten


def signs_as_conditions(module: torch.fx.GraphModule, cotangents: Iterable[str]) -> torch.fx.GraphModule:
    """The graph in which backward computes ``sign(x)`` as ``(x > 0) - (x < 0)``: the same at zero and NaN, too."""
    names = set(cotangents)
    places = [n for n in module.graph.find_nodes(op="placeholder") if n.meta["parameter"] in names]
    behind = users_of(places)
    for node in list(module.graph.nodes):
        wanting = [u for u in node.users if u in behind]
        if node not in behind and wanting and aten_name(node.target) in ("sign", "sgn"):
            new = _as_conditions(node)
            for user in wanting:
                user.replace_input_with(node, new)
    module.graph.eliminate_dead_code()
    module.recompile()
    return module


def _as_conditions(node: torch.fx.Node) -> torch.fx.Node:
    x, like = node.args[0], node.meta["val"]
    if like.is_complex() or like.dtype == torch.bool or not isinstance(x, torch.fx.Node):
        return node
    graph = node.graph

    def new(op: object, *args: object, **options: object) -> torch.fx.Node:
        made = graph.call_function(op, args, options)  # type: ignore[arg-type]
        values = [a.meta["val"] if isinstance(a, torch.fx.Node) else a for a in args]
        made.meta["val"] = op(*values, **options)  # type: ignore[operator]
        return made

    with graph.inserting_before(node.next):
        above, below = new(_aten.gt.Scalar, x, 0), new(_aten.lt.Scalar, x, 0)
        up, down = (new(_aten._to_copy.default, mask, dtype=like.dtype) for mask in (above, below))
        return new(_aten.sub.Tensor, up, down)
