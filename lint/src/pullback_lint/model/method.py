"""A method of an autograd.Function, or a rule registered for an operator."""

from __future__ import annotations

import ast
import functools
from typing import TYPE_CHECKING, NamedTuple

from pullback_lint.model.flow import Flow, FunctionNode
from pullback_lint.model.value import Value, root

if TYPE_CHECKING:
    from pullback_lint.model.events import Guards
    from pullback_lint.model.imports import Imports

CONTEXT_NAMES = frozenset({"ctx", "cty", "context", "self", "cls", "_ctx", "fctx", "c"})


class Parameter(NamedTuple):
    """A parameter: its name, annotation and default."""

    name: str
    node: ast.arg
    default: ast.expr | None = None

    @property
    def annotation(self) -> str:
        """The annotation as text."""
        return ast.unparse(self.node.annotation).strip("'\"") if self.node.annotation is not None else ""


class Element(NamedTuple):
    """One gradient of a return of backward.

    Attributes:
        node: The expression returned at that place.
        value: What is known about it.
    """

    node: ast.expr
    value: Value

    @property
    def is_none(self) -> bool:
        """Whether it is None on every path."""
        return self.value.tags == {"none"} and not self.value.deps


class Result(NamedTuple):
    """A return taken apart: its elements, if their number is known."""

    node: ast.Return
    elements: tuple[Element, ...] | None
    guards: Guards


class Method:
    """A function with a context, and what it does.

    Args:
        node: The definition.
        imports: What imported names stand for.
        role: `forward`, `backward`, `setup_context`, `jvp` or `vmap`.
        with_context: Whether its first parameter is the context.
        inputs: For `setup_context`: the names of forward's inputs, where their number is fixed.
    """

    def __init__(
        self,
        node: FunctionNode,
        imports: Imports,
        role: str,
        *,
        with_context: bool = True,
        inputs: tuple[str, ...] | None = None,
    ) -> None:
        self.node = node
        self.imports = imports
        self.role = role
        self.with_context = with_context
        self.inputs = inputs
        self.decorators = tuple(
            imports.dotted(item.func if isinstance(item, ast.Call) else item) for item in node.decorator_list
        )

    @functools.cached_property
    def names(self) -> list[ast.arg]:
        """All positional parameters, without `cls`."""
        arguments = [*self.node.args.posonlyargs, *self.node.args.args]
        return arguments[1:] if "classmethod" in self.decorators else arguments

    @functools.cached_property
    def ctx(self) -> str | None:
        """The name of the context."""
        return self.names[0].arg if self.with_context and self.names else None

    @functools.cached_property
    def parameters(self) -> list[Parameter]:
        """The positional parameters after the context."""
        defaults: list[ast.expr | None] = [*self.node.args.defaults]
        padded = [None] * (len(self.names) - len(defaults)) + defaults
        both = [
            Parameter(arg.arg, arg, default)
            for arg, default in zip(self.names, padded[-len(self.names) :], strict=False)
        ]
        return both[1:] if self.with_context else both

    @property
    def vararg(self) -> str | None:
        """The name of `*args`."""
        return self.node.args.vararg.arg if self.node.args.vararg else None

    @functools.cached_property
    def flow(self) -> Flow:
        """What its expressions depend on."""
        return Flow(self.node, self.imports, self.ctx, self._bindings())

    def _bindings(self) -> dict[str, Value]:
        if self.role == "setup_context":
            return _setup_bindings(self.parameters, self.inputs)
        prefix = {"backward": "g", "jvp": "g", "vjp": "g"}.get(self.role, "in")
        tags = ("tensor",) if prefix == "g" else ()
        bindings = {item.name: root(f"{prefix}.{item.name}", *tags) for item in self.parameters}
        if self.vararg:
            bindings[self.vararg] = root(f"{prefix}.{self.vararg}", *tags, "tuple")
        for arg in self.node.args.kwonlyargs:
            bindings[arg.arg] = root(f"{prefix}.{arg.arg}")
        return bindings

    @functools.cached_property
    def results(self) -> list[Result]:
        """Its returns, taken apart."""
        return [Result(item.node, self._elements(item.node), item.guards) for item in self.flow.returns.values()]

    def _elements(self, node: ast.Return) -> tuple[Element, ...] | None:
        if node.value is None:
            return (Element(ast.Constant(None), Value(tags=frozenset({"none"}))),)
        return self.split(node.value)

    def split(self, node: ast.expr) -> tuple[Element, ...] | None:
        """The elements that an expression returns; None if their number is unknown."""
        value = self.flow.values.get(node, Value())
        if isinstance(node, ast.Tuple | ast.List):
            return self._split_display(node)
        if value.items is not None and {"tuple", "list"} & value.tags:
            nodes = self._item_nodes(node, len(value.items))
            return tuple(Element(item, element) for item, element in zip(nodes, value.items, strict=True))
        single = {"tensor", "arithmetic", "none", "plain", "zero", "mask"}
        if value.tags & single and not value.tags & {"tuple", "list", "tensors", "autograd-tuple", "opaque"}:
            return (Element(node, value),)
        return None

    def _split_display(self, node: ast.Tuple | ast.List) -> tuple[Element, ...] | None:
        elements: list[Element] = []
        for item in node.elts:
            if isinstance(item, ast.Starred):
                inner = self.flow.values.get(item.value, Value())
                if inner.items is None:
                    return None
                elements += [Element(item, value) for value in inner.items]
            else:
                elements.append(Element(item, self.flow.values.get(item, Value())))
        return tuple(elements)

    def _item_nodes(self, node: ast.expr, count: int) -> list[ast.expr]:
        """The expressions of a tuple that a name holds, where one assignment tells."""
        if isinstance(node, ast.Name):
            sources = self.flow.assignments.get(node.id, [])
            if len(sources) == 1 and isinstance(sources[0], ast.Tuple | ast.List) and len(sources[0].elts) == count:
                return sources[0].elts
        return [node] * count

    @property
    def cotangents(self) -> list[Parameter]:
        """The cotangents of a backward."""
        return self.parameters

    @functools.cached_property
    def is_stub(self) -> bool:
        """Whether the body does nothing but raise, pass or document."""
        return all(_does_nothing(statement) for statement in self.node.body)


def _does_nothing(node: ast.stmt) -> bool:
    if isinstance(node, ast.Pass | ast.Raise | ast.Assert | ast.Import | ast.ImportFrom):
        return True
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _setup_bindings(parameters: list[Parameter], inputs: tuple[str, ...] | None) -> dict[str, Value]:
    bindings = {}
    if parameters:
        whole = root("in.*", "tuple")
        items = None if inputs is None else tuple(root(f"in.{name}") for name in inputs)
        bindings[parameters[0].name] = whole._replace(items=items)
    if len(parameters) > 1:
        bindings[parameters[1].name] = root("out")
    return bindings
