"""Find cotangents that backward never reads."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import literal, loaded, text
from pullback_lint.model.value import Value
from pullback_lint.problem import Problem

CODE = "PB209"


def check_function(function: Function) -> Iterator[Problem]:
    backward, outputs = function.backward, function.output_items
    if backward is None or outputs is None or len(outputs) < 2 or function.is_surrogate or backward.is_stub:
        return
    yield from _unread_elements(function, backward, outputs)
    if not any(loaded(backward.node, parameter.name) for parameter in backward.parameters):
        return
    for index, parameter in enumerate(backward.parameters[: len(outputs)]):
        if loaded(backward.node, parameter.name) or not _is_differentiable(function, outputs[index]):
            continue
        if _is_marked(function, index):
            continue
        yield Problem(
            parameter.node,
            f"the cotangent of output {index} (`{parameter.name}`) is never used",
            fix="add its part to the gradients, or mark the output as non-differentiable",
            severity="warning" if parameter.name.startswith("_") or not index else None,
        )


def _unread_elements(function: Function, backward: Method, outputs: tuple[Value, ...]) -> Iterator[Problem]:
    """Elements of `*grads` that are never read, where all reads are of one element."""
    name = backward.vararg
    reads = loaded(backward.node, name) if name else []
    parents = function.module.parents
    if name and not reads and any(loaded(backward.node, parameter.name) for parameter in backward.parameters):
        yield from _unread(function, backward, outputs)
    indices = [
        literal(parent.slice) if isinstance(parent := parents.get(read), ast.Subscript) else None for read in reads
    ]
    if not indices or not all(isinstance(index, int) and index >= 0 for index in indices):
        return
    first = len(backward.parameters)
    for index in range(first, len(outputs)):
        unread = index - first not in indices
        if unread and _is_differentiable(function, outputs[index]) and not _is_marked(function, index):
            yield Problem(
                reads[0],
                f"the cotangent of output {index} (`{name}[{index - first}]`) is never used",
                fix="add its part to the gradients, or mark the output as non-differentiable",
            )


def _unread(function: Function, backward: Method, outputs: tuple[Value, ...]) -> Iterator[Problem]:
    """Cotangents behind a `*_` that nothing reads."""
    for index in range(len(backward.parameters), len(outputs)):
        if _is_differentiable(function, outputs[index]) and not _is_marked(function, index):
            yield Problem(
                backward.node.args.vararg or backward.node,
                f"the cotangent of output {index} (in `*{backward.vararg}`) is never used",
                fix="add its part to the gradients, or mark the output as non-differentiable",
                severity="warning",
            )


def _is_differentiable(function: Function, value: Value) -> bool:
    inputs = [root for root in value.smooth if root.startswith("in.")]
    return bool(inputs) and not value.tags & {"opaque", "index", "numpy", "random", "plain"}


def _is_marked(function: Function, index: int) -> bool:
    """Whether the output at an index is given to mark_non_differentiable."""
    calls = function.mark_calls.get("mark_non_differentiable", [])
    marked = {text(argument) for call in calls for argument in call.args}
    if any("*" in name for name in marked) or (marked and function.forward is None):
        return True
    shown = (
        [result.elements[index].node for result in function.forward.results if result.elements]
        if function.forward
        else []
    )
    return any(text(node) in marked for node in shown) or (bool(marked) and function.has_setup_context)
