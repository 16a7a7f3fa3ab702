"""Evaluate expressions to values: one handler per kind of syntax node."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from pullback_lint.model import calls, tables
from pullback_lint.model.events import AttributeRead, Call, Guards, Mutation, Save
from pullback_lint.model.value import NOTHING, PLAIN, Value, each, join, root
from pullback_lint.model.walk import walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from pullback_lint.model.imports import Imports

Environment = dict[str, Value]


class Expressions:
    """The evaluator of expressions, with all that it notes on the way.

    Args:
        imports: What imported names stand for.
        ctx: The name of the context parameter, if there is one.
        bindings: The values of the parameters.
    """

    def __init__(self, imports: Imports, ctx: str | None, bindings: Environment) -> None:
        self.imports = imports
        self.ctx = ctx
        self.env: Environment = dict(bindings)
        self.guards: Guards = ()
        self.passed: Guards = ()
        self.contexts: tuple[str, ...] = ()
        self.values: dict[ast.AST, Value] = {}
        self.calls: dict[ast.Call, Call] = {}
        self.mutations: dict[ast.AST, Mutation] = {}
        self.saves: dict[ast.Call, Save] = {}
        self.reads: dict[ast.Attribute, AttributeRead] = {}
        self.changes: dict[str, list[ast.AST]] = {}
        self.ctx_escapes = False
        self.deposited = Value()

    def evaluate(self, node: ast.expr) -> Value:
        """The value of an expression, noted under its node."""
        handler: Callable[[Expressions, ast.expr], Value] | None = _HANDLERS.get(type(node))
        value = handler(self, node) if handler else self.children(node)
        known = self.values.get(node)
        self.values[node] = value if known is None else known | value
        return value

    def children(self, node: ast.AST) -> Value:
        """The origin of all that an unknown kind of node contains."""
        return join(self.evaluate(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))

    def is_ctx(self, node: ast.AST) -> bool:
        """Whether an expression is the context."""
        return self.ctx is not None and isinstance(node, ast.Name) and node.id == self.ctx

    def bind(self, target: ast.expr, value: Value, source: ast.expr | None = None) -> None:
        """Assign a value to a target; statements refine it."""
        raise NotImplementedError

    def keep(self, node: ast.AST, name: str, value: Value, source: ast.expr | None) -> None:
        """Note that a value is kept as an attribute of the context; statements refine it."""
        raise NotImplementedError

    def mutate(self, node: ast.AST, target: ast.expr, added: Value) -> None:
        """Note that a target is changed in place, by a value that becomes part of it."""
        value = self.evaluate(target)
        if "dict" in value.tags and isinstance(node, ast.Subscript):
            value = value._replace(alias=NOTHING)
        self.mutations[node] = Mutation(node, target, value, self.guards)
        key = self.key(target)
        if key is not None:
            self.changes.setdefault(key, []).append(node)
        self.absorb(target, added)

    def absorb(self, target: ast.expr, added: Value) -> None:
        """Let a value become part of what a name holds."""
        key = self.key(target)
        if key is not None and key in self.env:
            old = self.env[key]
            self.env[key] = (old | Value(added.deps, added.smooth, NOTHING, added.tags))._replace(items=None)

    def contained(self, node: ast.expr) -> list[ast.expr]:
        """The elements of a list, tuple or dict, also of one that a name stands for; else the expression alone."""
        return [node]

    def key(self, node: ast.AST) -> str | None:
        """The name under which the environment holds an expression (or what it is an element of)."""
        while isinstance(node, ast.Subscript | ast.Starred):
            node = node.value
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.Attribute):
            if self.is_ctx(node.value):
                return f"ctx.{node.attr}"
            return self.key(node.value) if node.attr in tables.VIEW_ATTRIBUTES else None
        return None


def _constant(flow: Expressions, node: ast.Constant) -> Value:
    if node.value is None:
        return Value(tags=frozenset({"none"}))
    return PLAIN.tagged("zero") if node.value == 0 and not isinstance(node.value, bool) else PLAIN


def _name(flow: Expressions, node: ast.Name) -> Value:
    if flow.is_ctx(node):
        flow.ctx_escapes = True
    return flow.env.get(node.id, Value(tags=frozenset({"global"})))


def _attribute(flow: Expressions, node: ast.Attribute) -> Value:
    if flow.is_ctx(node.value):
        return _ctx_attribute(flow, node)
    base = flow.evaluate(node.value)
    if node.attr == "grad":
        return (base | flow.deposited).computed("opaque")._replace(tags=frozenset({"opaque"}))
    if node.attr in tables.META_ATTRIBUTES:
        return PLAIN
    if node.attr == "data":
        return base._replace(smooth=NOTHING, items=None).tagged("detached")
    if node.attr in tables.VIEW_ATTRIBUTES:
        return base._replace(items=None)
    return Value(base.deps, base.smooth, NOTHING, base.tags)


def _ctx_attribute(flow: Expressions, node: ast.Attribute) -> Value:
    flow.reads[node] = AttributeRead(node.attr, node, (*flow.guards, *flow.passed))
    if node.attr in {"saved_tensors", "saved_variables"}:
        return root("saved.*", "tensors")
    if node.attr in {"needs_input_grad"}:
        return PLAIN
    return flow.env.get(f"ctx.{node.attr}") or root(f"ctx.{node.attr}")


def _subscript(flow: Expressions, node: ast.Subscript) -> Value:
    base = flow.evaluate(node.value)
    index = flow.evaluate(node.slice)
    if "tensors" in base.tags:
        return _saved_item(node.slice)
    if base.items is not None and isinstance(node.slice, ast.Constant | ast.UnaryOp):
        position = _integer(node.slice)
        if position is not None and -len(base.items) <= position < len(base.items):
            return base.items[position]
    if "inputs" in base.tags:
        return base
    alias = base.alias if _is_basic(node.slice) else NOTHING
    tags = base.tags - {"tensors", "tuple", "list", "autograd-tuple"}
    return Value(base.deps | index.deps, base.smooth, alias, tags)


def _saved_item(index: ast.expr) -> Value:
    position = _integer(index)
    if position is not None and position >= 0:
        return root(f"saved.{position}", "tensor")
    return root("saved.*", "tensors" if isinstance(index, ast.Slice) else "tensor")


def _integer(node: ast.expr) -> int | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, int) else None


def _is_basic(index: ast.expr) -> bool:
    """Whether an index is made of slices, numbers, None and Ellipsis alone, so that the result is a view."""
    if isinstance(index, ast.Tuple):
        return all(map(_is_basic, index.elts))
    return isinstance(index, ast.Slice | ast.Constant) or _integer(index) is not None


def _sequence(flow: Expressions, node: ast.Tuple | ast.List) -> Value:
    items: list[Value] | None = []
    everything = []
    for element in node.elts:
        value = flow.evaluate(element)
        everything.append(value)
        if isinstance(element, ast.Starred):
            items = None if items is None or value.items is None else [*items, *value.items]
        elif items is not None:
            items.append(value)
    whole = join(everything)
    kind = "tuple" if isinstance(node, ast.Tuple) else "list"
    return Value(
        whole.deps,
        whole.smooth,
        whole.alias,
        (whole.tags & {"opaque"}) | {kind},
        None if items is None else tuple(items),
    )


def _starred(flow: Expressions, node: ast.Starred) -> Value:
    return flow.evaluate(node.value)


def _binary(flow: Expressions, node: ast.BinOp) -> Value:
    left, right = flow.evaluate(node.left), flow.evaluate(node.right)
    if isinstance(node.op, ast.Add) and left.items is not None and right.items is not None:
        return (left | right)._replace(items=left.items + right.items)
    if isinstance(node.op, ast.Mult) and left.items is not None:
        count = _integer(node.right)
        return left._replace(items=left.items * count if count is not None and count < 100 else None)
    if isinstance(node.op, ast.Add) and {"tuple", "list", "tensors"} & (left.tags | right.tags):
        return (left | right)._replace(items=None)
    both = left | right
    if isinstance(node.op, ast.FloorDiv | ast.BitAnd | ast.BitOr | ast.BitXor):
        return both.cut("tensor" if "tensor" in both.tags else "arithmetic")
    if "plain" in left.tags and "plain" in right.tags and not both.deps:
        return PLAIN
    if isinstance(node.op, ast.Mult) and "zero" in left.tags | right.tags and not (left.deps and right.deps):
        return Value(tags=frozenset({"zero", "arithmetic"}))
    return both.computed("arithmetic")._replace(tags=_arithmetic_tags(node, left, right))


def _arithmetic_tags(node: ast.BinOp, left: Value, right: Value) -> frozenset[str]:
    tags = (left.tags | right.tags) & {"opaque", "random", "numpy", "tensor", "empty", "detached"}
    return tags | ({"tensor", "arithmetic"} if isinstance(node.op, ast.MatMult) else {"arithmetic"})


def _unary(flow: Expressions, node: ast.UnaryOp) -> Value:
    value = flow.evaluate(node.operand)
    if "plain" in value.tags or "zero" in value.tags:
        return value._replace(alias=NOTHING)
    return value.computed("arithmetic") if isinstance(node.op, ast.USub | ast.UAdd) else value.cut("arithmetic")


def _compare(flow: Expressions, node: ast.Compare) -> Value:
    everything = join([flow.evaluate(node.left), *map(flow.evaluate, node.comparators)])
    if any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in node.ops):
        return PLAIN
    return everything.cut("mask")


def _conditional(flow: Expressions, node: ast.IfExp) -> Value:
    flow.evaluate(node.test)
    guards = flow.guards
    flow.guards = (*guards, (node.test, True))
    body = flow.evaluate(node.body)
    flow.guards = (*guards, (node.test, False))
    other = flow.evaluate(node.orelse)
    flow.guards = guards
    return body | other


def _boolean(flow: Expressions, node: ast.BoolOp) -> Value:
    guards = flow.guards
    values = []
    for operand in node.values:
        values.append(flow.evaluate(operand))
        flow.guards = (*flow.guards, (operand, isinstance(node.op, ast.And)))
    flow.guards = guards
    return join(values)


def _comprehension(flow: Expressions, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Value:
    _generators(flow, node.generators)
    element = flow.evaluate(node.elt)
    kind = "list" if isinstance(node, ast.ListComp) else "tuple"
    return Value(element.deps, element.smooth, element.alias, element.tags | {kind, "comprehension"})


def _generators(flow: Expressions, generators: list[ast.comprehension]) -> None:
    for generator in generators:
        flow.bind(generator.target, each(flow.evaluate(generator.iter)))
        for condition in generator.ifs:
            flow.evaluate(condition)


def _dict_comprehension(flow: Expressions, node: ast.DictComp) -> Value:
    _generators(flow, node.generators)
    return (flow.evaluate(node.key) | flow.evaluate(node.value)).tagged("dict")


def _dict(flow: Expressions, node: ast.Dict) -> Value:
    return flow.children(node).tagged("dict")


def _walrus(flow: Expressions, node: ast.NamedExpr) -> Value:
    value = flow.evaluate(node.value)
    flow.bind(node.target, value)
    return value


def _lambda(flow: Expressions, node: ast.Lambda) -> Value:
    return free_names(flow, node.body).tagged("callable")


def free_names(flow: Expressions, *nodes: ast.AST) -> Value:
    """The origin of all names that a nested function uses."""
    found = []
    for node in nodes:
        for child in walk(node):
            if isinstance(child, ast.Attribute) and flow.is_ctx(child.value):
                found.append(_ctx_attribute(flow, child))
            elif isinstance(child, ast.Name) and not flow.is_ctx(child):
                found.append(flow.env.get(child.id, Value()))
    whole = join(found)
    return Value(whole.deps, whole.smooth, NOTHING, frozenset({"opaque"}))


def _joined_string(flow: Expressions, node: ast.JoinedStr) -> Value:
    return PLAIN


_HANDLERS: dict[type[ast.AST], Callable[..., Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Tuple: _sequence,
    ast.List: _sequence,
    ast.Starred: _starred,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.IfExp: _conditional,
    ast.BoolOp: _boolean,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _dict_comprehension,
    ast.Dict: _dict,
    ast.NamedExpr: _walrus,
    ast.Lambda: _lambda,
    ast.JoinedStr: _joined_string,
    ast.Call: calls.evaluate,
}
