"""Evaluate calls: what torch functions, tensor methods and unknown functions make of their arguments."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from pullback_lint.model import tables
from pullback_lint.model.events import Call, Save
from pullback_lint.model.tables import words
from pullback_lint.model.value import NOTHING, PLAIN, Value, each, join

if TYPE_CHECKING:
    from pullback_lint.model.expressions import Expressions

_KNOWN_PREFIXES = (
    "torch.",
    "math.",
    "numpy.",
    "np.",
    "scipy.",
    "operator.",
    "functools.reduce",
    "einops.",
    "opt_einsum.",
)
_BUILTINS = words("""
    sum abs pow divmod float complex sorted reversed zip enumerate map filter dict set iter next super print min
    max
""")


def evaluate(flow: Expressions, node: ast.Call) -> Value:
    """The value of a call, which is noted with its arguments."""
    if isinstance(node.func, ast.Attribute) and flow.is_ctx(node.func.value):
        return _ctx_call(flow, node, node.func)
    dotted = flow.imports.dotted(node.func)
    if dotted == "setattr" and len(node.args) == 3 and flow.is_ctx(node.args[0]):
        return _set_by_name(flow, node)
    name = dotted.rpartition(".")[2] or (node.func.attr if isinstance(node.func, ast.Attribute) else "")
    receiver = _receiver(flow, node, dotted)
    positional = [flow.evaluate(argument) for argument in node.args]
    keywords = [flow.evaluate(keyword.value) for keyword in node.keywords]
    arguments = (*positional, *keywords)
    flow.calls[node] = Call(node, dotted, name, receiver, arguments, flow.contexts, flow.guards)
    everything = join([*([receiver] if receiver is not None else []), *arguments])
    if name == "backward":
        flow.deposited |= everything
    if dotted.startswith("torch."):
        _out_argument(flow, node, everything)
    if receiver is not None:
        return _method(flow, node, name, receiver, everything)
    return _function(flow, node, dotted, name, positional, everything)


def _set_by_name(flow: Expressions, node: ast.Call) -> Value:
    """`setattr(ctx, "name", value)`, as if it were written `ctx.name = value`."""
    _, name, value = node.args
    if isinstance(name, ast.Constant) and isinstance(name.value, str):
        flow.keep(node, name.value, flow.evaluate(value), value)
    else:
        flow.ctx_escapes = True
    return PLAIN


def _receiver(flow: Expressions, node: ast.Call, dotted: str) -> Value | None:
    """The value whose method is called, unless it is a module's function."""
    if not isinstance(node.func, ast.Attribute):
        if not isinstance(node.func, ast.Name):
            return flow.evaluate(node.func)
        return flow.env.get(node.func.id)
    head = node.func.value
    while isinstance(head, ast.Attribute):
        head = head.value
    if isinstance(head, ast.Name) and head.id not in flow.env and not flow.is_ctx(head):
        return None
    return flow.evaluate(node.func.value)


def _out_argument(flow: Expressions, node: ast.Call, everything: Value) -> None:
    for keyword in node.keywords:
        if keyword.arg == "out":
            for target in keyword.value.elts if isinstance(keyword.value, ast.Tuple) else [keyword.value]:
                flow.mutate(keyword, target, everything)


def _ctx_call(flow: Expressions, node: ast.Call, func: ast.Attribute) -> Value:
    values = [flow.evaluate(argument) for argument in node.args]
    for keyword in node.keywords:
        values.append(flow.evaluate(keyword.value))
    flow.calls[node] = Call(node, f"ctx.{func.attr}", func.attr, None, tuple(values), flow.contexts, flow.guards)
    if func.attr in {"save_for_backward", "save_for_forward"}:
        flow.saves[node] = Save(node, tuple(node.args), _saved_values(node, values), (*flow.guards, *flow.passed))
        return PLAIN
    if func.attr in tables.CTX_API:
        return PLAIN
    return (flow.evaluate(func) | join(values)).computed("opaque")


def _saved_values(node: ast.Call, values: list[Value]) -> tuple[Value, ...] | None:
    """The saved values one by one; None if their number is unknown."""
    saved: list[Value] = []
    for argument, value in zip(node.args, values, strict=False):
        if not isinstance(argument, ast.Starred):
            saved.append(value)
        elif value.items is not None:
            saved.extend(value.items)
        else:
            return None
    return tuple(saved)


def _method(flow: Expressions, node: ast.Call, name: str, receiver: Value, everything: Value) -> Value:
    target = node.func.value if isinstance(node.func, ast.Attribute) else None
    if name.endswith("_") and not name.startswith("__") and target is not None and name not in tables.NOT_IN_PLACE:
        flow.mutate(node, target, everything)
        tags = receiver.tags | everything.tags | ({"random"} if name in tables.RANDOM else NOTHING)
        return Value(everything.deps, everything.smooth, receiver.alias, tags)
    known = name in tables.TENSOR_OPS or name in tables.META or name in tables.FRESH
    if known and not (name in {"adjoint", "t"} and node.args):
        return operation(node, name, receiver, everything)
    if "callable" in receiver.tags or target is None:
        return _opaque(flow, node, everything)
    flow.absorb(target, everything)
    if name in {"append", "extend", "insert"} and "list" in receiver.tags:
        return PLAIN
    return _opaque(flow, node, everything)


def _function(
    flow: Expressions, node: ast.Call, dotted: str, name: str, positional: list[Value], everything: Value
) -> Value:
    if _is_inplace(node, dotted, name):
        flow.mutate(node, node.args[0], everything)
        return Value(everything.deps, everything.smooth, positional[0].alias, everything.tags | {"tensor"})
    if name == "grad" and "autograd" in dotted:
        return Value(everything.deps, everything.smooth, NOTHING, frozenset({"autograd-tuple", "opaque"}))
    if dotted in {"tuple", "list"} and len(positional) == 1:
        return positional[0]._replace(tags=positional[0].tags | {dotted})
    if dotted in {"len", "isinstance", "int", "bool", "str", "type", "hasattr", "range", "id", "repr"}:
        return PLAIN
    if dotted == "getattr" and len(node.args) > 1 and flow.is_ctx(node.args[0]):
        return everything.computed("opaque")
    if dotted.startswith(("numpy.", "np.", "scipy.")):
        return everything.cut("numpy")
    if dotted.startswith(_KNOWN_PREFIXES) and _is_known(dotted, name):
        first = positional[0] if positional else Value()
        return operation(node, name, first, everything)
    if dotted in {"zip", "enumerate", "reversed"}:
        return _iterated(dotted, positional, everything)
    if dotted in _BUILTINS:
        return everything.computed("arithmetic")
    return _opaque(flow, node, everything)


def _is_inplace(node: ast.Call, dotted: str, name: str) -> bool:
    """Whether a torch function overwrites its first argument: `torch.relu_(x)`, `F.relu(x, inplace=True)`."""
    if not dotted.startswith("torch.") or not node.args or name in tables.NOT_IN_PLACE:
        return False
    flags = (item.value for item in node.keywords if item.arg == "inplace")
    inplace = any(isinstance(flag, ast.Constant) and flag.value is True for flag in flags)
    return inplace or (name.endswith("_") and not name.startswith("_") and dotted.count(".") == 1)


def _iterated(name: str, positional: list[Value], everything: Value) -> Value:
    """What zip, enumerate or reversed gives: a container with one element that stands for all."""
    elements = [each(value) for value in positional]
    if name == "reversed":
        return everything._replace(items=None)
    if name == "enumerate":
        elements = [PLAIN, *elements[:1]]
    whole = join(elements)
    element = Value(whole.deps, whole.smooth, whole.alias, frozenset({"tuple"}), tuple(elements))
    return Value(whole.deps, whole.smooth, whole.alias, frozenset({"comprehension"}), (element,))


def _is_known(dotted: str, name: str) -> bool:
    return name in tables.TENSOR_OPS or name in tables.META or name in tables.FRESH or dotted.startswith("math.")


def _opaque(flow: Expressions, node: ast.Call, everything: Value) -> Value:
    """An unknown function: it may write any argument into any other."""
    added = everything.tagged("opaque")
    for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
        for element in flow.contained(argument):
            flow.absorb(element, added)
        if isinstance(argument, ast.Call) and isinstance(argument.func, ast.Attribute):
            flow.absorb(argument.func.value, added)
    result = everything.computed("opaque")
    return result._replace(tags=result.tags - {"tensor"})


def operation(node: ast.Call, name: str, first: Value, everything: Value) -> Value:
    """What a known torch operation gives.

    Args:
        node: The call.
        name: The operation's last name.
        first: The tensor it works on.
        everything: All it is given.
    """
    if name in tables.META:
        return PLAIN
    if name in tables.FILLED:
        return everything.cut("tensor", "constant")
    if name in tables.FRESH:
        return Value(tags=frozenset({"tensor", tables.FRESH[name]}))
    if name in tables.RANDOM:
        return everything.computed("tensor", "random")
    if name == "detach":
        return Value(first.deps, NOTHING, first.alias, first.tags | {"tensor", "detached"})
    if name == "numpy":
        return everything.cut("numpy")
    if name in tables.CUT:
        return everything.cut("tensor" if name not in {"item", "tolist", "long", "int"} else "scalar")
    if name in tables.VIEWS:
        return Value(first.deps, first.smooth, first.alias, _view_tags(name, first))
    result = everything.computed("tensor")
    if name in tables.CASTS:
        result = result.tagged(*(first.tags & {"zero", "empty", "constant"}))
    if name in tables.WITH_INDEX or any(
        item.arg == "return_indices" and isinstance(item.value, ast.Constant) and item.value.value
        for item in node.keywords
    ):
        return result._replace(items=(result, result.cut("tensor", "index")))
    return result


def _view_tags(name: str, first: Value) -> frozenset[str]:
    if name == "contiguous":
        return first.tags | {"tensor", "contiguous"}
    keeps = name in {"view", "view_as", "reshape", "flatten", "unflatten", "detach", "requires_grad_"}
    return (first.tags if keeps else first.tags - {"contiguous"}) | {"tensor"}
