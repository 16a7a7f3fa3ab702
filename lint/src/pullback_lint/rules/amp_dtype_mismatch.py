"""Find products that autocast runs in low precision, saved beside tensors that it does not touch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, names_in, source_of
from pullback_lint.model.walk import every, words_in
from pullback_lint.problem import Problem

CODE = "PB502"


_LOW = {"matmul", "mm", "bmm", "linear", "addmm", "conv1d", "conv2d", "conv3d", "einsum", "baddbmm"}


def check_function(function: Function) -> Iterator[Problem]:
    forward, backward = function.forward, function.backward
    if forward is None or backward is None or function.is_operator or _handles_amp(function, forward, backward):
        return
    inputs = {name for save in function.saves for value in save.values or () for name in value.aliases("in.")}
    for save in function.saves:
        for index, argument in enumerate(save.arguments):
            if not isinstance(argument, ast.Name) or not _is_low(source_of(forward.flow, argument)):
                continue
            if inputs and _is_multiplied(backward, index) and argument.id not in _returned(forward):
                yield Problem(
                    argument,
                    f"under autocast `{argument.id}` is of low precision, while the saved inputs are not",
                    fix="use `torch.amp.custom_fwd` and `custom_bwd`, or cast to one dtype",
                    severity="warning",
                )


def _handles_amp(function: Function, forward: Method, backward: Method) -> bool:
    names = (*forward.decorators, *backward.decorators)
    said = words_in(forward.node) | words_in(backward.node)
    return any("custom_" in name or "amp" in name for name in names) or any("autocast" in word for word in said)


def _is_low(node: ast.AST) -> bool:
    return (isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)) or called(node) in _LOW


def _is_multiplied(backward: Method, index: int) -> bool:
    products = filter(_is_low, [*every(backward.node, ast.BinOp), *every(backward.node, ast.Call)])
    values = (backward.flow.values.get(node) for node in products)
    return any(value is not None and f"saved.{index}" in value.deps for value in values)


def _returned(forward: Method) -> set[str]:
    return {name for result in forward.results if result.elements for e in result.elements for name in names_in(e.node)
            if isinstance(e.node, ast.Name)}  # fmt: skip
