"""What happens in a method, in records: calls, changes in place, use of the context, returns."""

from __future__ import annotations

import ast
from typing import NamedTuple

from pullback_lint.model.value import Value

Guards = tuple[tuple[ast.expr, bool], ...]
"""The conditions around a place, each with the outcome that leads there."""


class Call(NamedTuple):
    """A call, with what is known about its arguments.

    Attributes:
        node: The call.
        dotted: The full dotted name of what is called, or an empty string.
        name: Its last part.
        receiver: The value whose method it is; None for a function.
        arguments: The values of all arguments.
        contexts: Dotted names of the `with` blocks around it.
        guards: The conditions around it.
    """

    node: ast.Call
    dotted: str
    name: str
    receiver: Value | None
    arguments: tuple[Value, ...]
    contexts: tuple[str, ...]
    guards: Guards


class Mutation(NamedTuple):
    """A change in place: what is changed, and the value it had."""

    node: ast.AST
    target: ast.expr
    value: Value
    guards: Guards


class Save(NamedTuple):
    """A call of `save_for_backward` or `save_for_forward`."""

    node: ast.Call
    arguments: tuple[ast.expr, ...]
    values: tuple[Value, ...] | None
    guards: Guards


class AttributeSet(NamedTuple):
    """An assignment to an attribute of the context."""

    name: str
    node: ast.AST
    expr: ast.expr | None
    value: Value
    guards: Guards


class AttributeRead(NamedTuple):
    """A read of an attribute of the context."""

    name: str
    node: ast.Attribute
    guards: Guards


class Unpack(NamedTuple):
    """An assignment of all saved tensors to several names."""

    node: ast.Assign
    targets: tuple[ast.expr, ...]


class Return(NamedTuple):
    """A return with a value."""

    node: ast.Return
    value: Value
    guards: Guards
