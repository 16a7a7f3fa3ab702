"""Find saving that depends on which inputs need a gradient, and unpacking that does not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pullback_lint.model.events import Save
from pullback_lint.model.function import Function
from pullback_lint.model.queries import closure, covers, text
from pullback_lint.model.walk import every, words_in
from pullback_lint.problem import Problem

CODE = "PB127"


def check_function(function: Function) -> Iterator[Problem]:
    yield from _kept_or_none(function)
    saves = function.saves
    if not saves or covers([save.guards for save in saves]) or function.backward is None:
        return
    tests = [text(test) for save in saves for test, _ in save.guards]
    if not all("needs_input_grad" in test or "requires_grad" in test for test in tests):
        return
    if any("any(" in test or "all(" in test for test in tests) or function.trained <= _asked(function, saves):
        return
    backward = function.backward.flow
    for unpack in backward.unpacks:
        read = backward.reads.get(unpack.node.value) if isinstance(unpack.node.value, ast.Attribute) else None
        if read is not None and not read.guards:
            yield Problem(
                unpack.node,
                f"nothing is saved unless `{tests[0]}`, but backward always unpacks",
                fix="save on every path (`None` for what is not needed), or unpack under the same condition",
            )


def _asked(function: Function, saves: list[Save]) -> set[str]:
    """The names behind the conditions of all saving."""
    tests = [test for save in saves for test, _ in save.guards]
    nodes = (node for flow in function.fillers for test in tests for node in closure(flow, test))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    asked = re.findall(r"needs_input_grad\[(\d+)\]", " ".join(map(text, tests)))
    return names | {function.inputs[int(index)].name for index in asked if int(index) < len(function.inputs)}


def _asks(node: ast.AST) -> bool:
    """Whether a function looks at what needs a gradient, or at what is None."""
    compared = (op for item in every(node, ast.Compare) for op in item.ops)
    return "needs_input_grad" in words_in(node) or any(isinstance(op, ast.IsNot) for op in compared)


def _kept_or_none(function: Function) -> Iterator[Problem]:
    """Tensors saved as `x if w.requires_grad else None` that backward uses without asking."""
    backward = function.backward
    if backward is None or len(function.saves) != 1:
        return
    for index, argument in enumerate(function.saves[0].arguments):
        if not isinstance(argument, ast.IfExp) or "grad" not in text(argument.test) or _asks(backward.node):
            continue
        used = any(f"saved.{index}" in item.value.deps for _, elements in function.gradients for item in elements)
        if used and any(isinstance(side, ast.Constant) for side in (argument.body, argument.orelse)):
            yield Problem(
                argument,
                f"this is None unless `{text(argument.test)}`, but backward always uses it",
                fix="compute each gradient in backward only if `ctx.needs_input_grad` asks for it",
            )
