"""Find tensors made on a fixed device."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback_lint.model.events import Call
from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.queries import called, calls_of, closure, keyword, literal, text
from pullback_lint.problem import Problem

CODE = "PB501"


_FACTORIES = {"zeros", "ones", "empty", "full", "eye", "rand", "randn", "linspace", "tensor"}


def check_function(function: Function) -> Iterator[Problem]:
    for method in (function.forward, function.backward):
        if method is None or _wraps_cpu_code(method):
            continue
        for call in method.flow.calls.values():
            found = _fixed(call) or _default(function, method, call)
            if found:
                yield Problem(
                    call.node,
                    found,
                    fix="take the device of an input: `zeros_like(x)`, `x.new_zeros(…)`, `device=x.device`",
                    severity="warning",
                )


def _wraps_cpu_code(method: Method) -> bool:
    return bool(calls_of(method.node, {"cpu", "numpy", "from_numpy"}))


def _fixed(call: Call) -> str:
    """A device that is spelt out."""
    if call.name == "cuda" and call.receiver is not None and not call.node.args and not call.node.keywords:
        return "`.cuda()` is a fixed device"
    if call.dotted.startswith("torch.cuda.") and call.dotted.endswith("Tensor"):
        return f"`{call.dotted}` is a fixed device and dtype"
    device = keyword(call.node, "device")
    if call.name == "to" and call.node.args and isinstance(literal(call.node.args[0]), str):
        device = call.node.args[0]
    value = literal(device)
    if isinstance(value, str) and call.name not in {"custom_fwd", "custom_bwd", "autocast", "device"}:
        return f"device {value!r} is fixed" if value.partition(":")[0] in {"cpu", "cuda", "mps", "xpu"} else ""
    return ""


def _default(function: Function, method: Method, call: Call) -> str:
    """A factory without a device whose tensor becomes part of a gradient."""
    if not call.dotted.startswith("torch.") or call.name not in _FACTORIES or call.dotted.count(".") != 1:
        return ""
    if any(item.arg in {"device", None, "out", "generator"} for item in call.node.keywords) or _is_single(call.node):
        return ""
    parent = function.module.parents.get(call.node)
    if isinstance(parent, ast.Attribute) and parent.attr in {"to", "type_as", "cuda", "type", "cpu", "tolist"}:
        return ""
    if not _reaches_gradient(function, method, call.node):
        return ""
    return f"`{text(call.node)}` is made on the default device, whatever the inputs are on"


def _is_single(node: ast.Call) -> bool:
    """Whether the tensor is a single number, which mixes with any device."""
    if called(node) == "tensor":
        return not (node.args and isinstance(node.args[0], ast.List) and len(node.args[0].elts) > 1)
    return not node.args or literal(node.args[0]) in ((), 1, [])


def _reaches_gradient(function: Function, method: Method, node: ast.Call) -> bool:
    if method.role == "backward":
        ends = [element.node for _, elements in function.gradients for element in elements]
    else:
        ends = [item.node.value for item in method.flow.returns.values() if item.node.value is not None]
    return any(node in set(closure(method.flow, end)) for end in ends)
