"""A part of a graph, between given nodes, as a graph of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

Node = torch.fx.Node


def extract(module: torch.fx.GraphModule, inputs: Sequence[Node], results: Sequence[Node | None]) -> Any:
    """The graph from ``inputs`` to a tuple of ``results``; a result of ``None`` stays ``None``.

    Raises:
        KeyError: If a result needs a placeholder that is not among the inputs.
    """
    graph = torch.fx.Graph()
    env: dict[Node, Node] = {}
    for node in dict.fromkeys(inputs):
        env[node] = graph.placeholder(_name(node))
        env[node].meta = {**node.meta, "parameter": _name(node)}
    for node in _before(results, set(env)):
        env[node] = graph.node_copy(node, lambda n: env[n])
    graph.output(tuple(None if r is None else env[r] for r in results))
    graph.lint()
    return torch.fx.GraphModule(module, graph)


def _name(node: Node) -> str:
    return str(node.meta.get("parameter") or node.name)


def _before(results: Sequence[Node | None], known: set[Node]) -> list[Node]:
    """What has to be computed for the results, in the order of the graph."""
    wanted: set[Node] = set()
    todo = [r for r in results if r is not None]
    while todo:
        node = todo.pop()
        if node in wanted or node in known:
            continue
        if node.op == "placeholder":
            raise KeyError(_name(node))
        wanted.add(node)
        todo.extend(node.all_input_nodes)
    if not wanted:
        return []
    return [n for n in next(iter(wanted)).graph.nodes if n in wanted]
