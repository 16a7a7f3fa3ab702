"""Follow the values through the statements of one function."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from pullback_lint.model.events import AttributeSet, Return, Unpack
from pullback_lint.model.expressions import Environment, Expressions, free_names
from pullback_lint.model.value import PLAIN, Value, each, join, root
from pullback_lint.model.walk import every, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pullback_lint.model.imports import Imports

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class Flow(Expressions):
    """What each expression of a function depends on, and what the function does.

    Args:
        node: The function.
        imports: What imported names stand for.
        ctx: The name of its context parameter, if there is one.
        bindings: The values of its other parameters.
    """

    def __init__(self, node: FunctionNode, imports: Imports, ctx: str | None, bindings: Environment) -> None:
        super().__init__(imports, ctx, bindings)
        self.node = node
        self.returns: dict[ast.Return, Return] = {}
        self.sets: dict[ast.AST, AttributeSet] = {}
        self.unpacks: list[Unpack] = []
        self.assignments: dict[str, list[ast.expr | None]] = {}
        self.global_names: set[str] = set()
        self.closures: dict[ast.expr, list[ast.AST]] = {}
        self.falls_through = self.block(node.body)

    def block(self, statements: Sequence[ast.stmt]) -> bool:
        """Run statements; whether the end can be reached."""
        guards, passed = self.guards, self.passed
        reached = True
        for statement in statements:
            if not reached:
                break
            reached = self.statement(statement)
        self.guards, self.passed = guards, passed
        return reached

    def statement(self, node: ast.stmt) -> bool:
        """Run one statement; whether the next one can be reached."""
        handler = _HANDLERS.get(type(node))
        if handler is not None:
            return handler(self, node)
        self.children(node)
        return True

    def bind(self, target: ast.expr, value: Value, source: ast.expr | None = None) -> None:
        """Assign a value to a name, an attribute, an element or several of them."""
        if isinstance(target, ast.Name):
            self.env[target.id] = value
            self.assignments.setdefault(target.id, []).append(source)
            self.values[target] = value
        elif isinstance(target, ast.Starred):
            self.bind(target.value, value._replace(items=None))
        elif isinstance(target, ast.Tuple | ast.List):
            self._bind_several(target.elts, value, source)
        elif isinstance(target, ast.Attribute):
            self._bind_attribute(target, value, source)
        elif isinstance(target, ast.Subscript):
            self.mutate(target, target.value, value | self.evaluate(target.slice).cut())

    def contained(self, node: ast.expr) -> list[ast.expr]:
        """The elements of containers, also of those that were assigned to a name."""
        shown = [node]
        if isinstance(node, ast.Name):
            shown += [source for source in self.assignments.get(node.id, []) if source is not None]
        found = [node]
        for item in shown:
            if isinstance(item, ast.Tuple | ast.List):
                found += item.elts
            elif isinstance(item, ast.Dict):
                found += item.values
        return found

    def _bind_several(self, targets: list[ast.expr], value: Value, source: ast.expr | None) -> None:
        sources = source.elts if isinstance(source, ast.Tuple | ast.List) and len(source.elts) == len(targets) else None
        starred = [isinstance(target, ast.Starred) for target in targets]
        for index, target in enumerate(targets):
            if "tensors" in value.tags:
                element = root("saved.*" if any(starred[: index + 1]) else f"saved.{index}", "tensor")
                element = element.tagged("tensors") if starred[index] else element
            elif (value.items is not None and len(value.items) == len(targets) and not any(starred)) or (
                value.items is not None and not any(starred[: index + 1]) and index < len(value.items)
            ):
                element = value.items[index]
            else:
                element = each(value)
            self.bind(target, element, sources[index] if sources else None)

    def _bind_attribute(self, target: ast.Attribute, value: Value, source: ast.expr | None) -> None:
        if self.is_ctx(target.value):
            self.keep(target, target.attr, value, source)
        elif target.attr == "data":
            self.mutate(target, target.value, value)
        else:
            self.evaluate(target.value)
            self.absorb(target.value, value)

    def keep(self, node: ast.AST, name: str, value: Value, source: ast.expr | None) -> None:
        """Note that a value is kept as an attribute of the context."""
        self.sets[node] = AttributeSet(name, node, source, value, self.guards)
        self.env[f"ctx.{name}"] = value

    def branches(self, test: ast.expr | None, *blocks: Sequence[ast.stmt]) -> bool:
        """Run alternatives from one state and join what they leave; whether any end is reached."""
        before, guards = self.env, self.guards
        ends: list[Environment] = []
        for index, block in enumerate(blocks):
            self.env = dict(before)
            self.guards = (*guards, (test, index == 0)) if test is not None else guards
            if self.block(block):
                ends.append(self.env)
        self.env = _merge(ends) if ends else dict(before)
        self.guards = guards
        return bool(ends)

    def loop(self, target: ast.expr | None, each_value: Value | None, body: Sequence[ast.stmt]) -> None:
        """Run a body that may run several times or not at all."""
        for _ in range(2):
            before = dict(self.env)
            if target is not None and each_value is not None:
                self.bind(target, each_value)
            self.block(body)
            self.env = _merge([before, self.env])


def _merge(states: list[Environment]) -> Environment:
    first, *rest = states
    if not rest:
        return first
    keys = dict.fromkeys(key for state in states for key in state)
    return {key: join(state[key] for state in states if key in state) for key in keys}


def _assign(flow: Flow, node: ast.Assign) -> bool:
    value = flow.evaluate(node.value)
    for target in node.targets:
        if "tensors" in value.tags and isinstance(target, ast.Tuple | ast.List):
            flow.unpacks.append(Unpack(node, tuple(target.elts)))
        flow.bind(target, value, node.value)
    return True


def _annotated(flow: Flow, node: ast.AnnAssign) -> bool:
    if node.value is not None:
        flow.bind(node.target, flow.evaluate(node.value), node.value)
    return True


def _augmented(flow: Flow, node: ast.AugAssign) -> bool:
    added = flow.evaluate(node.value)
    if isinstance(node.target, ast.Subscript):
        flow.evaluate(node.target)
        flow.mutate(node, node.target.value, added)
        return True
    if isinstance(node.target, ast.Attribute) and flow.is_ctx(node.target.value):
        old = flow.env.get(f"ctx.{node.target.attr}", Value())
        flow.bind(node.target, old | added)
        return True
    old = flow.evaluate(node.target)
    if (old.alias or "tensor" in old.tags) and "plain" not in old.tags:
        flow.mutate(node, node.target, added)
    if isinstance(node.target, ast.Name):
        items = old.items + added.items if old.items is not None and added.items is not None else None
        flow.env[node.target.id] = (old | added)._replace(alias=old.alias, items=items)
        flow.assignments.setdefault(node.target.id, []).append(None)
    return True


def _return(flow: Flow, node: ast.Return) -> bool:
    value = flow.evaluate(node.value) if node.value is not None else Value(tags=frozenset({"none"}))
    known = flow.returns.get(node)
    flow.returns[node] = Return(node, value if known is None else known.value | value, flow.guards)
    return False


def _if(flow: Flow, node: ast.If) -> bool:
    flow.evaluate(node.test)
    reached = flow.branches(node.test, node.body, node.orelse)
    if reached and _returns(node.body):
        flow.passed = (*flow.passed, (node.test, False))
    elif reached and node.orelse and _returns(node.orelse):
        flow.passed = (*flow.passed, (node.test, True))
    return reached


def _returns(body: Sequence[ast.stmt]) -> bool:
    return isinstance(body[-1], ast.Return)


def _for(flow: Flow, node: ast.For | ast.AsyncFor) -> bool:
    flow.loop(node.target, each(flow.evaluate(node.iter)), node.body)
    return flow.block(node.orelse)


def _while(flow: Flow, node: ast.While) -> bool:
    flow.evaluate(node.test)
    flow.loop(None, None, node.body)
    endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
    breaks = bool(every(node, ast.Break))
    return (breaks or not endless) and flow.block(node.orelse)


def _with(flow: Flow, node: ast.With | ast.AsyncWith) -> bool:
    contexts = flow.contexts
    for item in node.items:
        value = flow.evaluate(item.context_expr)
        called = item.context_expr.func if isinstance(item.context_expr, ast.Call) else item.context_expr
        flow.contexts = (*flow.contexts, flow.imports.dotted(called))
        if item.optional_vars is not None:
            flow.bind(item.optional_vars, value)
    reached = flow.block(node.body)
    flow.contexts = contexts
    return reached


def _try(flow: Flow, node: ast.Try) -> bool:
    before, guards = dict(flow.env), flow.guards
    test = ast.Name("no exception is raised")
    if not all(isinstance(handler.body[-1], ast.Raise | ast.Return) for handler in node.handlers):
        flow.guards = (*guards, (test, True))
    reached = flow.block([*node.body, *node.orelse])
    states = [flow.env] if reached else []
    for handler in node.handlers:
        flow.env = _merge([dict(before), flow.env])
        flow.guards = (*guards, (test, False))
        if handler.name:
            flow.env[handler.name] = PLAIN
        if flow.block(handler.body):
            states.append(flow.env)
    flow.env = _merge(states) if states else before
    flow.guards = guards
    return flow.block(node.finalbody) and bool(states)


def _match(flow: Flow, node: ast.Match) -> bool:
    subject = flow.evaluate(node.subject)
    for case in node.cases:
        for child in walk(case.pattern):
            name = getattr(child, "name", None)
            if isinstance(name, str):
                flow.env[name] = subject
    return flow.branches(None, *[case.body for case in node.cases], [])


def _nested(flow: Flow, node: FunctionNode | ast.ClassDef) -> bool:
    flow.assignments.setdefault(node.name, []).append(None)
    flow.env[node.name] = free_names(flow, *node.body).tagged("callable")
    return True


def _stop(flow: Flow, node: ast.stmt) -> bool:
    flow.children(node)
    return False


def _global(flow: Flow, node: ast.Global | ast.Nonlocal) -> bool:
    if isinstance(node, ast.Global):
        flow.global_names.update(node.names)
    return True


def _delete(flow: Flow, node: ast.Delete) -> bool:
    for target in node.targets:
        if isinstance(target, ast.Name):
            flow.env.pop(target.id, None)
    return True


def _import(flow: Flow, node: ast.Import | ast.ImportFrom) -> bool:
    return True


_HANDLERS: dict[type[ast.stmt], Callable[..., bool]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Return: _return,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.Match: _match,
    ast.FunctionDef: _nested,
    ast.AsyncFunctionDef: _nested,
    ast.ClassDef: _nested,
    ast.Raise: _stop,
    ast.Continue: _stop,
    ast.Break: _stop,
    ast.Global: _global,
    ast.Nonlocal: _global,
    ast.Delete: _delete,
    ast.Import: _import,
    ast.ImportFrom: _import,
}
