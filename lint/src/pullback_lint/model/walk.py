"""Walk syntax trees fast: without contexts, each tree once, and sorted by kind and by name for whoever asks."""

from __future__ import annotations

import ast
from typing import TypeVar

from pullback_lint.model.tables import words

Node = TypeVar("Node", bound=ast.AST)

_WITHOUT_NODES = words("""
    ctx id attr arg level kind type_comment conversion module asname is_async simple rest kwd_attrs tag n s lineno
""")
"""Fields that hold no nodes of interest, whatever the class."""

_NODES, _KINDS, _WORDS = "_pullback_nodes", "_pullback_kinds", "_pullback_words"
"""Where a node keeps what was found below it: many rules look at the same trees."""


_LARGE = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
"""What is worth sorting."""


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    """The fields of each class that may hold nodes."""

    def __missing__(self, cls: type[ast.AST]) -> tuple[str, ...]:
        names = () if cls is ast.Constant else tuple(name for name in cls._fields if name not in _WITHOUT_NODES)
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
        known = [root]
        for node in known:
            known.extend(_children(node))
        setattr(root, _NODES, known)
    return known


def every(root: ast.AST, kind: type[Node]) -> list[Node]:
    """The nodes of one class in a tree, in the order of `walk`.

    Args:
        root: Where to begin.
        kind: The class of node, such as `ast.Call`.
    """
    if not isinstance(root, _LARGE):
        return [node for node in walk(root) if isinstance(node, kind)]
    kinds: dict[type[ast.AST], list[Node]] | None = getattr(root, _KINDS, None)
    if kinds is None:
        kinds = {}
        for node in walk(root):
            kinds.setdefault(type(node), []).append(node)  # type: ignore[arg-type]
        setattr(root, _KINDS, kinds)
    return kinds.get(kind, [])


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


def parents_of(root: ast.AST) -> dict[ast.AST, ast.AST]:
    """The parent of each node of a tree."""
    return {child: node for node in walk(root) for child in _children(node)}


def _children(node: ast.AST) -> list[ast.AST]:
    found: list[ast.AST] = []
    for name in _FIELDS[node.__class__]:
        value = getattr(node, name, None)
        if value.__class__ is list:
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found
