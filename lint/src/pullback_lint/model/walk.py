"""Walk syntax trees fast: without contexts and operators' positions, and each function once."""

from __future__ import annotations

import ast

from pullback_lint.model.tables import words

_WITHOUT_NODES = words("""
    ctx id attr level kind type_comment conversion module asname is_async simple rest kwd_attrs tag n s lineno
""")
"""Fields that hold no nodes of interest, whatever the class."""


def _fields(cls: type[ast.AST]) -> tuple[str, ...]:
    return tuple(name for name in cls._fields if name not in _WITHOUT_NODES)


_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {}
_CACHE = "_pullback_nodes"


def walk(root: ast.AST) -> list[ast.AST]:
    """All nodes of a tree, breadth first, the root included.

    The lists of functions are kept, since many rules walk the same function.

    Args:
        root: Where to begin.
    """
    known: list[ast.AST] | None = getattr(root, _CACHE, None)
    if known is not None:
        return known
    nodes = _walk(root)
    if isinstance(root, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        setattr(root, _CACHE, nodes)
    return nodes


def _walk(root: ast.AST) -> list[ast.AST]:
    nodes = [root]
    add = nodes.append
    for node in nodes:
        cls = type(node)
        fields = _FIELDS.get(cls)
        if fields is None:
            fields = _FIELDS[cls] = _fields(cls)
        for name in fields:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                add(value)
            elif isinstance(value, list):
                for item in value:
                    if isinstance(item, ast.AST):
                        add(item)
    return nodes
