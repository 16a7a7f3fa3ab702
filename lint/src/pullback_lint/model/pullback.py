"""Functions made with pullback's own decorators, and their rules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from pullback_lint.model.module import Module
from pullback_lint.model.queries import keyword, literal
from pullback_lint.model.walk import every


class Rule(NamedTuple):
    """A rule: its definition, and the arguments that it serves with the node that names each."""

    node: ast.FunctionDef
    arguments: tuple[tuple[str, ast.expr], ...]
    constant: bool


class Decorated(NamedTuple):
    """A function under `@pullback.function`.

    Attributes:
        node: Its definition.
        names: Its arguments.
        kept: The names that it keeps with `pullback.keep`.
        inplace: The argument that it overwrites.
        open_ended: Whether it takes `*args` or `**kwargs`, or keeps names that cannot be told.
        rules: Its rules in this file.
    """

    node: ast.FunctionDef
    names: tuple[str, ...]
    kept: tuple[str, ...]
    inplace: str
    open_ended: bool
    rules: list[Rule]


def pullback_functions(module: Module) -> Iterator[Decorated]:
    """All pullback Functions of a module, with their rules."""
    if "pullback" not in module.source:
        return
    definitions = [node for node in module.nodes if isinstance(node, ast.FunctionDef)]
    made = {item.node.name: item for node in definitions if (item := _decorated(module, node)) is not None}
    for node in definitions:
        for decorator in node.decorator_list:
            owner = _owner(decorator)
            if owner in made and isinstance(decorator, ast.Call):
                made[owner].rules.append(_rule(node, decorator))
    yield from made.values()


def _decorated(module: Module, node: ast.FunctionDef) -> Decorated | None:
    for decorator in node.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        if module.imports.dotted(call.func if call else decorator) != "pullback.function":
            continue
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        inplace = literal(keyword(call, "inplace")) if call else None
        kept, unknown = _kept(module, node)
        return Decorated(
            node,
            tuple(arg.arg for arg in arguments),
            kept,
            inplace if isinstance(inplace, str) else "",
            bool(node.args.vararg or node.args.kwarg or unknown),
            [],
        )
    return None


def _kept(module: Module, node: ast.FunctionDef) -> tuple[tuple[str, ...], bool]:
    """The names kept by the forward, and whether there are others."""
    names: list[str] = []
    unknown = False
    for child in every(node, ast.Call):
        if module.imports.dotted(child.func) == "pullback.keep":
            names += [item.arg for item in child.keywords if item.arg]
            unknown |= any(item.arg is None for item in child.keywords)
    return tuple(names), unknown


def _owner(decorator: ast.expr) -> str:
    """The Function whose `grad` a decorator calls."""
    func = decorator.func if isinstance(decorator, ast.Call) else decorator
    if isinstance(func, ast.Attribute) and func.attr == "grad" and isinstance(func.value, ast.Name):
        return func.value.id
    return ""


def _rule(node: ast.FunctionDef, decorator: ast.Call) -> Rule:
    arguments = tuple(
        (item.value, item) for item in decorator.args if isinstance(item, ast.Constant) and isinstance(item.value, str)
    )
    return Rule(node, arguments, literal(keyword(decorator, "constant")) is True)
