"""Find an inverse Fourier transform where the adjoint is needed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import (
    called,
    closure,
    gradients,
    keyword,
    literal,
    matrix_operands,
    results,
    source_of,
    text,
)
from pullback_lint.problem import Problem

CODE = "PB215"


_INVERSE = {"fft": "ifft", "ifft": "fft", "fft2": "ifft2", "ifft2": "fft2", "fftn": "ifftn", "ifftn": "fftn",
            "rfft": "irfft", "rfft2": "irfft2", "rfftn": "irfftn"}  # fmt: skip


def check_function(function: Function) -> Iterator[Problem]:
    forward, backward = function.forward, function.backward
    if forward is None or backward is None:
        return
    yield from _solves(function, forward, backward)
    for shown in results(forward):
        if not isinstance(shown, ast.Call) or called(shown) not in _INVERSE or not _is_fft(function, shown):
            continue
        for node in gradients(function, 0):
            if isinstance(node, ast.Attribute) and node.attr == "real":
                node = source_of(backward.flow, node.value)
            if (
                isinstance(node, ast.Call)
                and called(node) == _INVERSE[called(shown)]
                and _norm(node) == _norm(shown) != "ortho"
            ):
                yield Problem(
                    node,
                    f"`{called(node)}` is the inverse of `{called(shown)}`, not its adjoint: a factor n is missing",
                    argument=function.first,
                    fix='give it `norm="forward"`' if _norm(shown) == "backward" else "use the other norm",
                )


def _solves(function: Function, forward: Method, backward: Method) -> Iterator[Problem]:
    """A gradient of `a @ x` that solves with `a` instead of multiplying by its transpose."""
    names = [parameter.name for parameter in function.inputs]
    for shown in results(forward):
        if (operands := matrix_operands(shown)) is None:
            continue
        left, right = map(text, operands)
        for element in function.gradients_of(names.index(right)) if left in names and right in names else ():
            for node in closure(backward.flow, element.node):
                if called(node) in {"solve", "inv", "inverse", "pinv"} and isinstance(node, ast.expr):
                    yield Problem(
                        node,
                        f"the adjoint of a product with `{left}` is one with its transpose, not its inverse",
                        argument=right,
                        fix=f"use `{left}.mT @ …`",
                    )


def _is_fft(function: Function, node: ast.Call) -> bool:
    return function.module.imports.dotted(node.func).startswith("torch.fft.")


def _norm(node: ast.Call) -> str:
    value = literal(keyword(node, "norm"))
    return value if isinstance(value, str) else "backward"
