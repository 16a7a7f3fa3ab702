"""Find tensors computed in forward and kept as attributes of the context."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.events import AttributeSet
from pullback_lint.model.function import Function
from pullback_lint.model.walk import walk
from pullback_lint.problem import Problem

CODE = "PB308"


def check_function(function: Function) -> Iterator[Problem]:
    for name, items in function.sets.items():
        reads = [read.node for flow in function.readers for read in flow.reads.values() if read.name == name]
        if not reads or any(_is_graph(function, read) for read in reads):
            continue
        for item in items:
            if _is_new_tensor(function, item) and not _is_returned(function, item):
                yield Problem(
                    item.node,
                    f"a tensor is kept as attribute `{name}`: saved-tensor hooks and checkpointing do not see it",
                    fix="use `save_for_backward`",
                )


def _is_new_tensor(function: Function, item: AttributeSet) -> bool:
    value = item.value
    tensors = {f"in.{parameter.name}" for index, parameter in enumerate(function.inputs) if function.is_tensor(index)}
    if value.tags == {"mask"} and value.deps <= tensors and value.deps:
        return True
    if value.aliases("in.") or value.alias == {"out"} or not value.rooted("in."):
        return False
    return "tensor" in value.tags and not value.tags & {"plain", "scalar", "opaque", "none", "list", "tuple", "dict"}


def _is_graph(function: Function, node: ast.Attribute) -> bool:
    """Whether backward differentiates what is kept: a graph, which cannot be saved otherwise."""
    calls = [call for flow in function.readers for call in flow.calls.values() if call.name in {"grad", "backward"}]
    return any(node in walk(call.node) for call in calls)


def _is_returned(function: Function, item: AttributeSet) -> bool:
    """Whether forward returns the very object, which is another fault."""
    results = function.forward.results if function.forward is not None else []
    nodes = [element.node for result in results for element in result.elements or ()]
    nodes += [result.node.value for result in results if result.node.value is not None]
    kept = {item.name} | ({item.expr.id} if isinstance(item.expr, ast.Name) else set())
    return any(
        (isinstance(node, ast.Attribute) and node.attr in kept) or (isinstance(node, ast.Name) and node.id in kept)
        for node in nodes
    )
