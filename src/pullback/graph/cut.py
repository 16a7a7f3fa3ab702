"""Where to cut the graph of forward and backward: the set of values that takes the fewest bits.

A maximum flow from the arguments to backward, in which each node lets through as many bits as keeping it takes
(Ford and Fulkerson, 1956); its minimum cut is what to keep.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from pullback._torch import hint
from pullback.graph.clean import users_of
from pullback.graph.pair import Pair

Node = torch.fx.Node
_FACTOR = {"output": 0.999, "argument": 1.0, "bits": 1.001, "value": 1.001, "size": 1.0}
"""Among equals the output is kept, which the next operation often keeps anyway; then an argument."""


LOSSLESS = ("argument", "output", "bits")
"""What may be kept. A second derivative goes through arguments and outputs; through a condition goes none."""


def cheapest(whole: Pair, among: Sequence[str] = LOSSLESS, free: Sequence[Node] = ()) -> list[Node] | None:
    """What to keep: the nodes of a minimum cut, in the order of the graph; ``None`` if no cut will do.

    Args:
        whole: The graph.
        among: The kinds of what may be kept: ``argument``, ``output``, ``bits``, ``value``; sizes always may.
        free: Nodes that may be kept whatever they are.
    """
    import networkx  # type: ignore[import-untyped]

    behind = users_of(whole.cotangents)
    flow = networkx.DiGraph()
    for node in whole.module.graph.nodes:
        if node.op == "output" or node in behind or node in whole.numbers.values():
            continue
        flow.add_edge((node, "in"), (node, "out"), capacity=_cost(whole, node, among, free))
        if node in whole.arguments.values():
            flow.add_edge("start", (node, "in"))
        for user in node.users:
            if user.op != "output":
                flow.add_edge((node, "out"), "end" if user in behind else (user, "in"))
    for node in whole.gradients:
        if node is not None and node not in behind:
            flow.add_edge((node, "out"), "end")
    if "start" not in flow or "end" not in flow:
        return []
    try:
        _, (near, _) = networkx.minimum_cut(flow, "start", "end")
    except networkx.NetworkXUnbounded:
        return None
    crossing = {n for n, side in (pair for pair in near if isinstance(pair, tuple)) if side == "in"}
    return [n for n in whole.module.graph.nodes if n in crossing and (n, "out") not in near]


def bits_of(node: Node) -> float:
    """The bits that keeping a node takes: one for each element of a condition, none for a size."""
    value: Any = node.meta.get("val")
    if isinstance(value, (tuple, list)):
        return math.inf  # several results: each is kept by itself
    if not isinstance(value, torch.Tensor):
        return 0.0
    count = 1
    for size in value.shape:
        count *= hint(size)
    return float(count * (1 if value.dtype == torch.bool else value.element_size() * 8))


def kind_of(whole: Pair, node: Node) -> str:
    """What a node is to those who keep it: ``argument``, ``output``, ``size``, ``bits`` or ``value``."""
    if node in whole.arguments.values():
        return "argument"
    if node in whole.outputs:
        return "output"
    value: Any = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        return "size"
    return "bits" if value.dtype == torch.bool else "value"


def _cost(whole: Pair, node: Node, among: Sequence[str], free: Sequence[Node]) -> float:
    kind = kind_of(whole, node)
    return bits_of(node) * _FACTOR[kind] if kind in (*among, "size") or node in free else math.inf
