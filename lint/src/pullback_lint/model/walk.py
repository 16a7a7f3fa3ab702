"""Walk syntax trees fast: without contexts, each tree once, and sorted by kind and by name for whoever asks."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TypeVar

from pullback_lint.model.tables import words

Node = TypeVar("Node", bound=ast.AST)

_WITHOUT_NODES = words("""
    ctx id attr arg level kind type_comment conversion module asname is_async simple rest kwd_attrs tag n s lineno
""")
"""Fields that hold no nodes of interest, whatever the class."""

_LEAVES = (ast.Constant, ast.Global, ast.Nonlocal, ast.alias, ast.MatchSingleton)
_WITH_GAPS = words("keys kw_defaults")
"""Lists with None where a node is left out."""

_NODES, _KINDS, _WORDS = "_pullback_nodes", "_pullback_kinds", "_pullback_words"
"""Where a node keeps what was found below it: many rules look at the same trees."""


_LARGE = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
"""What is worth sorting."""


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    """The fields of each class that may hold nodes."""

    def __missing__(self, cls: type[ast.AST]) -> tuple[str, ...]:
        names = () if issubclass(cls, _LEAVES) else tuple(name for name in cls._fields if name not in _WITHOUT_NODES)
        self[cls] = names
        return names


_FIELDS = _Fields()


def walk(root: ast.AST) -> list[ast.AST]:
    """All nodes of a tree, breadth first, the root included.

    Args:
        root: Where to begin.
    """
    known: list[ast.AST] | None = getattr(root, _NODES, None)
    if known is None:
        known = _walk(root)
        setattr(root, _NODES, known)
    return known


def _walk(root: ast.AST) -> list[ast.AST]:
    nodes = [root]
    for node in nodes:
        for name in _FIELDS[node.__class__]:
            value = getattr(node, name, None)
            if value.__class__ is list:
                nodes += value if name not in _WITH_GAPS else filter(None, value)
            elif isinstance(value, ast.AST):
                nodes.append(value)
    return nodes


def forget(root: ast.AST) -> None:
    """Drop what is kept about a tree that was changed."""
    for name in (_NODES, _KINDS, _WORDS):
        vars(root).pop(name, None)


def every(root: ast.AST, kind: type[Node]) -> list[Node]:
    """The nodes of one class in a tree, in the order of `walk`.

    Args:
        root: Where to begin.
        kind: The class of node, such as `ast.Call`.
    """
    if not isinstance(root, _LARGE):
        return [node for node in walk(root) if isinstance(node, kind)]
    kinds: defaultdict[type[ast.AST], list[Node]] | None = getattr(root, _KINDS, None)
    if kinds is None:
        kinds = defaultdict(list)
        for node in walk(root):
            kinds[node.__class__].append(node)  # type: ignore[arg-type]
        setattr(root, _KINDS, kinds)
    return kinds[kind]


def words_in(root: ast.AST) -> frozenset[str]:
    """All names and attributes in a tree.

    Args:
        root: Where to begin.
    """
    known: frozenset[str] | None = getattr(root, _WORDS, None)
    if known is None:
        known = frozenset(node.id for node in every(root, ast.Name)).union(
            node.attr for node in every(root, ast.Attribute)
        )
        setattr(root, _WORDS, known)
    return known


def apart(body: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    """The nodes of statements without those inside of the functions and classes among them.

    Args:
        body: The statements.
    """
    waiting: list[ast.AST] = [*body]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            waiting.extend(ast.iter_child_nodes(node))
