"""One source file, taken apart: its names, classes, Functions, operators and calls."""

from __future__ import annotations

import ast
import builtins
import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING

from pullback_lint.model import tables
from pullback_lint.model.function import Function
from pullback_lint.model.imports import Imports, bind_methods
from pullback_lint.model.operators import Operator, operators_of
from pullback_lint.model.walk import apart, every, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pullback_lint.model.flow import FunctionNode

BUILTINS = frozenset(dir(builtins))
_MAX_DEPTH = 8


class Module:
    """The records of one source file.

    Args:
        source: The text.
        path: Where it lies; names of base classes are looked up beside it.

    Raises:
        SyntaxError: The text is not Python.
        ValueError: The text contains null bytes.
        RecursionError: The text is nested too deeply.
    """

    def __init__(self, source: str, path: Path | None = None) -> None:
        self.source = source
        self.path = path
        self.tree = ast.parse(source)
        if "Tensor." in source:
            bind_methods(self.tree)
        self.nodes = walk(self.tree)
        self.imports = Imports(self.tree)

    @functools.cached_property
    def lines(self) -> list[str]:
        """The lines of the source."""
        return re.split(r"\r\n|\r|\n", self.source)

    @functools.cached_property
    def classes(self) -> dict[str, ast.ClassDef]:
        """All classes by name; of equal names the last."""
        return {node.name: node for node in self.class_nodes}

    @functools.cached_property
    def class_nodes(self) -> list[ast.ClassDef]:
        """All classes, nested ones included."""
        return every(self.tree, ast.ClassDef)

    @functools.cached_property
    def functions(self) -> list[Function]:
        """All autograd.Functions and operators with a registered gradient."""
        found = [function for node in self.class_nodes if (function := self.function(node)) is not None]
        return found + [item.function for item in self.operators if item.function is not None]

    @functools.cached_property
    def operators(self) -> list[Operator]:
        """All torch.library operators."""
        return list(operators_of(self))

    @functools.cached_property
    def calls(self) -> list[ast.Call]:
        """All calls."""
        return every(self.tree, ast.Call)

    @functools.cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The parent of each node."""
        return {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}

    @functools.cached_property
    def stored_attributes(self) -> frozenset[str]:
        """The attributes that any code of the module stores, on whatever object."""
        stored = {node.attr for node in every(self.tree, ast.Attribute) if not isinstance(node.ctx, ast.Load)}
        return frozenset(stored).union(_set_by_name(self.calls))

    @functools.cached_property
    def module_names(self) -> frozenset[str]:
        """The names that module-level code binds."""
        found = {
            node.name
            for node in self.tree.body
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)
        }
        for node in self.outermost:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
            elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
                found.add(node.name)
        declared = {name for node in every(self.tree, ast.Global) for name in node.names}
        return frozenset(found | declared | set(self.imports.names))

    @functools.cached_property
    def outermost(self) -> list[ast.AST]:
        """The nodes of module-level code, without those inside of functions and classes."""
        return list(apart(self.tree.body))

    def around(self, line: int) -> list[FunctionNode]:
        """The functions whose bodies hold a line, without one that begins there."""
        functions: list[FunctionNode] = [*every(self.tree, ast.FunctionDef), *every(self.tree, ast.AsyncFunctionDef)]
        return [node for node in functions if node.lineno < line <= (node.end_lineno or 0)]

    def function(self, node: ast.ClassDef) -> Function | None:
        """The record of a class, if it is derived from autograd.Function."""
        line = list(ancestry(self, node))
        if not any(base == "Function" for _, base, _ in line):
            return None
        members: dict[str, tuple[FunctionNode, Module]] = {}
        attributes: dict[str, ast.expr | None] = {}
        for cls, _, module in line:
            if cls is not None:
                _collect(cls, module, members, attributes)
        complete = all(base for _, base, _ in line)
        function = Function(node.name, node, self, members, attributes, complete=complete)
        return function if members else None


def _set_by_name(calls: list[ast.Call]) -> Iterator[str]:
    """The names in `setattr(…, "name", …)`."""
    for call in calls:
        is_setattr = getattr(call.func, "id", getattr(call.func, "attr", "")) == "setattr"
        name = call.args[1] if is_setattr and len(call.args) > 1 else None
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            yield name.value


def _collect(
    cls: ast.ClassDef,
    module: Module,
    members: dict[str, tuple[FunctionNode, Module]],
    attributes: dict[str, ast.expr | None],
) -> None:
    """Add what a class body defines and no derived class has."""
    mine: dict[str, FunctionNode] = {}
    for statement in _flat(cls.body):
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            mine[statement.name] = statement
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    attributes.setdefault(target.id, statement.value)
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            attributes.setdefault(statement.target.id, statement.value)
    for name, definition in mine.items():
        members.setdefault(name, (definition, module))


def _flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, ast.If):
            yield from _flat([*statement.orelse, *statement.body])
        elif isinstance(statement, ast.Try):
            yield from _flat(statement.body)


def ancestry(module: Module, node: ast.ClassDef, depth: int = 0) -> Iterator[tuple[ast.ClassDef | None, str, Module]]:
    """A class and its bases: each class, its root base (`Function`, `Module`, `known`, or empty), and where it lies."""
    yield node, "known", module
    for base in node.bases:
        dotted = module.imports.dotted(base)
        kind = _root_kind(module, dotted)
        if kind:
            yield None, kind, module
        elif dotted and depth < _MAX_DEPTH:
            yield from _base(module, node, dotted, depth)
        elif dotted not in {"object", "ABC", "abc.ABC", "Generic"}:
            yield None, "", module


def _root_kind(module: Module, dotted: str) -> str:
    if dotted in tables.FUNCTION_BASES or (dotted == "autograd.Function" and "torch" in module.source):
        return "Function"
    if dotted == "Function" and any(
        star in {"torch.autograd", "torch.autograd.function"} for star in module.imports.stars
    ):
        return "Function"
    return "Module" if dotted in tables.MODULE_BASES else ""


def _base(
    module: Module, node: ast.ClassDef, dotted: str, depth: int
) -> Iterator[tuple[ast.ClassDef | None, str, Module]]:
    found = module.classes.get(dotted)
    if found is not None and found is not node:
        yield from ancestry(module, found, depth + 1)
        return
    other = neighbour(module, dotted)
    cls = other.classes.get(dotted.rpartition(".")[2]) if other is not None else None
    if cls is None or other is None:
        yield None, "", module
    else:
        yield from ancestry(other, cls, depth + 1)


def neighbour(module: Module, dotted: str) -> Module | None:
    """The module beside this one from which a dotted name is imported."""
    if module.path is None or dotted.startswith("torch."):
        return None
    owner = dotted.rpartition(".")[0]
    for path in _places(module.path, owner):
        if path.is_file():
            return _load(path)
    return None


def _places(path: Path, owner: str) -> Iterator[Path]:
    level = len(owner) - len(owner.lstrip("."))
    parts = [part for part in owner.lstrip(".").split(".") if part]
    if level:
        start = path.parent
        for _ in range(level - 1):
            start = start.parent
        starts = [start]
    else:
        starts = [path.parent, *path.parents[1:5]] if parts else []
    for start in starts:
        target = start.joinpath(*parts)
        yield target.with_suffix(".py") if parts else target / "__init__.py"
        yield target / "__init__.py"


@functools.lru_cache(maxsize=128)
def _load(path: Path) -> Module | None:
    try:
        source = path.read_text(encoding="utf-8")
        return Module(source, path) if "torch" in source else None  # without the word it derives nothing from torch
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
