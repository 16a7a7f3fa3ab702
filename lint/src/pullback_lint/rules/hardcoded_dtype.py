"""Find gradients made with a fixed dtype."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, closure, keyword, text
from pullback_lint.problem import Problem

CODE = "PB607"


_FACTORIES = {"zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "new_zeros", "tensor"}
_DTYPES = {
    "torch.float32",
    "torch.float",
    "torch.float64",
    "torch.double",
    "torch.float16",
    "torch.half",
    "torch.bfloat16",
}


def check_function(function: Function) -> Iterator[Problem]:
    backward = function.backward
    if backward is None:
        return
    for _, elements in function.gradients:
        for element in elements:
            for node in closure(backward.flow, element.node):
                dtype = _dtype(backward, node)
                if dtype and not _is_cast(backward, element.node):
                    yield Problem(node, f"{dtype} is fixed", fix="take the dtype of an input", severity="note")


def _dtype(backward: Method, node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    dotted = backward.imports.dotted(node.func)
    if dotted in {"torch.FloatTensor", "torch.DoubleTensor", "torch.cuda.FloatTensor"}:
        return f"`{dotted}`"
    value = keyword(node, "dtype")
    if called(node) in _FACTORIES and value is not None and backward.imports.dotted(value) in _DTYPES:
        return f"`{text(value)}`"
    return ""


def _is_cast(backward: Method, node: ast.expr) -> bool:
    return any(called(child) in {"to", "type_as", "type"} for child in closure(backward.flow, node))
