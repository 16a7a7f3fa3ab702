"""Find .backward() inside of backward."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import text
from pullback_lint.problem import Problem

CODE = "PB316"


def check_function(function: Function) -> Iterator[Problem]:
    backward = function.backward
    if backward is None:
        return
    for call in backward.flow.calls.values():
        func = call.node.func
        if call.dotted == "torch.autograd.backward" and not call.node.keywords:
            message = "`torch.autograd.backward` adds to `.grad` of everything it reaches"
            yield Problem(call.node, message, fix="use `torch.autograd.grad`", severity="note")
        if call.name != "backward" or call.receiver is None or not isinstance(func, ast.Attribute):
            continue
        if "callable" not in call.receiver.tags and not _is_method_of_ctx(backward, func):
            message = f"`{text(func)}` adds to `.grad` of everything it reaches"
            yield Problem(call.node, message, fix="use `torch.autograd.grad`", severity="note")


def _is_method_of_ctx(backward: Method, func: ast.Attribute) -> bool:
    head = func.value
    while isinstance(head, ast.Attribute):
        head = head.value
    return backward.flow.is_ctx(head)
