"""Graphs to SymPy: each ATen operation by its row of the ops table."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import sympy as sp
import torch

from pullback.errors import TraceError
from pullback.graph.formula import COTANGENT, Formula, exact, symbol
from pullback.graph.functions import Term
from pullback.graph.joint import COTANGENT as COTANGENT_NAME
from pullback.graph.ops import BY_ATEN
from pullback.graph.trace import Trace, aten_name, trace

total = sp.Function("total", real=True)
"""A sum over dimensions: what a gradient is reduced by."""

_ON_NUMBERS: dict[Any, str] = {
    operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.truediv: "div", operator.pow: "pow",
    operator.neg: "neg", torch.sym_float: "alias",
}  # fmt: skip
_SHAPE_ONLY = {"expand", "view", "reshape", "unsqueeze", "squeeze", "_unsafe_view", "lift_fresh_copy", "lift_fresh"}
_FILLED = {"full": 1, "full_like": 1, "scalar_tensor": 0}
_CONSTANT = {"zeros_like": 0, "ones_like": 1, "zeros": 0, "ones": 1}


def formula_of(fn: Callable[..., Any], *inputs: Any, **options: Any) -> Formula:
    """What a function of tensors computes, read off its graph.

    Args:
        fn: A plain pointwise function, or a Function.
        inputs: Arguments of the kinds and shapes it is called with.
        options: Further arguments, by name.

    Raises:
        TraceError: Where it cannot be traced, or holds an operation that the ops table does not know.

    >>> formula_of(lambda x, b: x * torch.sigmoid(b * x), torch.ones(3), torch.ones(3)).out
    x*sigmoid(b*x)
    """
    traced = trace(fn, *inputs, **options)
    (out,) = read(traced)
    return Formula(traced.name, traced.parameters, out)


def read(traced: Trace) -> tuple[Term, ...]:
    """The outputs of a graph as expressions of its parameters and the cotangent."""
    values: dict[torch.fx.Node, Any] = {}
    for node in traced.module.graph.nodes:
        if node.op == "output":
            results = node.args[0] if isinstance(node.args[0], (tuple, list)) else (node.args[0],)
            return tuple(sp.sympify(values.get(r, 0)) if r is not None else sp.S.Zero for r in results)
        values[node] = _value(traced, node, values)
    raise AssertionError("a graph ends with its output")


def _value(traced: Trace, node: torch.fx.Node, values: dict[torch.fx.Node, Any]) -> Any:
    if node.op == "placeholder":
        name = node.meta["parameter"]
        return COTANGENT if name == COTANGENT_NAME else symbol(name)
    if node.op == "get_attr":
        return exact(getattr(traced.module, str(node.target)).item())
    args = torch.fx.map_arg(node.args, lambda n: values[n])
    name = aten_name(node.target)
    if name in _SHAPE_ONLY or (node.target is operator.getitem and args[1] == 0):
        return args[0]
    if name == "sum":
        return total(args[0])
    if name in _CONSTANT:
        return sp.Integer(_CONSTANT[name])
    if name in _FILLED:
        return _exact(args[_FILLED[name]])
    return _operation(traced, node, name, values)


def _operation(traced: Trace, node: torch.fx.Node, name: str, values: dict[torch.fx.Node, Any]) -> Any:
    op = BY_ATEN.get(name or _ON_NUMBERS.get(node.target, ""))
    if op is None:
        known = "the operations of the ops table can be written as a formula"
        raise TraceError(traced.name, known, str(node.target), "derive it without a formula")
    schema = getattr(node.target, "_schema", None)
    positional = [_exact(values.get(a, a) if isinstance(a, torch.fx.Node) else a) for a in node.args]
    kept = {k: _exact(v) for k, v in node.kwargs.items() if not _is_placement(v)}
    if schema is not None and any(k not in _parameters(op.form) for k in kept):
        kept = {k: v for k, v in kept.items() if k in _parameters(op.form)}
    return op.form(*positional, **kept)


def _parameters(form: Any) -> tuple[str, ...]:
    code = getattr(form, "__code__", None)
    return code.co_varnames[: code.co_argcount] if code is not None else ()


def _is_placement(value: Any) -> bool:
    return isinstance(value, (torch.dtype, torch.device, torch.layout, torch.memory_format))


def _exact(value: Any) -> Any:
    return exact(value) if type(value) in (int, float) else value
