"""A part of a graph, between given nodes, as a graph of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

Node = torch.fx.Node


def extract(
    module: torch.fx.GraphModule,
    inputs: Sequence[Node],
    results: Sequence[Node | None],
    instead: Mapping[Node, Node] | None = None,
) -> Any:
    """The graph from ``inputs`` to a tuple of ``results``; a result of ``None`` stays ``None``.

    Args:
        module: The whole graph.
        inputs: The nodes that are given.
        results: The nodes that are asked for.
        instead: Nodes to use in the places of others.

    Raises:
        KeyError: If a result needs a placeholder that is not among the inputs.
    """
    swap = dict(instead or {})
    graph = torch.fx.Graph()
    env: dict[Node, Node] = {}
    taken = {"self"}  # what runs a graph is called so there
    for node in inputs:  # one may come twice: an output that is an argument, an argument that is a number
        name = _name(node)
        while name in taken:
            name += "_again"
        taken.add(name)
        place = graph.placeholder(name)
        place.meta = {**node.meta, "parameter": _name(node)}
        env.setdefault(node, place)
    for node in _before(results, env, swap):
        env[node] = graph.node_copy(node, lambda n: env[swap.get(n, n)])
    graph.output(tuple(None if r is None else env[swap.get(r, r)] for r in results))
    graph.lint()
    return torch.fx.GraphModule(module, graph)


def _name(node: Node) -> str:
    return str(node.meta.get("parameter") or node.name)


def _before(results: Sequence[Node | None], known: Mapping[Node, Node], swap: Mapping[Node, Node]) -> list[Node]:
    """What has to be computed for the results, each after what it needs."""
    order: dict[Node, None] = {}

    def visit(node: Node) -> None:
        node = swap.get(node, node)
        if node in order or node in known:
            return
        if node.op == "placeholder":
            raise KeyError(_name(node))
        for operand in node.all_input_nodes:
            visit(operand)
        order[node] = None

    for result in results:
        if result is not None:
            visit(result)
    return list(order)


def ancestors(nodes: Sequence[Node]) -> set[Node]:
    """The nodes and all that they are computed from."""
    reached, todo = set(nodes), list(nodes)
    while todo:
        fresh = [n for n in todo.pop().all_input_nodes if n not in reached]
        reached.update(fresh)
        todo.extend(fresh)
    return reached
