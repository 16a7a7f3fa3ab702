"""Make text edits from syntax nodes."""

from __future__ import annotations

import ast

from pullback_lint.model.module import Module
from pullback_lint.problem import Edit

NONE: tuple[Edit, ...] = ()


def replace_node(module: Module, node: ast.AST, text: str) -> tuple[Edit, ...]:
    """Replace a node's text."""
    return (Edit(start_of(module, node), end_of(module, node), text),)


def insert_before(module: Module, node: ast.AST, text: str) -> Edit:
    """Insert text in front of a node."""
    return Edit(start_of(module, node), start_of(module, node), text)


def insert_after(module: Module, node: ast.AST, text: str) -> Edit:
    """Insert text behind a node."""
    return Edit(end_of(module, node), end_of(module, node), text)


def insert_line_above(module: Module, node: ast.FunctionDef, text: str) -> tuple[Edit, ...]:
    """Insert a line of its own above a definition and its decorators, equally indented."""
    first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
    line = module.lines[first - 1]
    indent = line[: len(line) - len(line.lstrip())]
    return (Edit((first, 0), (first, 0), f"{indent}{text}\n"),)


def pad_return(module: Module, node: ast.Return, missing: int) -> tuple[Edit, ...]:
    """Append `None` to the values of a return, or drop nothing."""
    if missing <= 0 or node.value is None or isinstance(node.value, ast.Name | ast.Starred):
        return NONE
    if isinstance(node.value, ast.Tuple):
        if not node.value.elts or isinstance(node.value.elts[-1], ast.Starred):
            return NONE
        return (insert_after(module, node.value.elts[-1], ", None" * missing),)
    if isinstance(node.value, ast.Constant | ast.BinOp | ast.UnaryOp | ast.Call):
        return (insert_after(module, node.value, ", None" * missing),)
    return NONE


def delete_line(node: ast.stmt) -> Edit:
    """Delete a statement that has its lines to itself."""
    return Edit((node.lineno, 0), ((node.end_lineno or node.lineno) + 1, 0), "")


def start_of(module: Module, node: ast.AST) -> tuple[int, int]:
    """The position of a node's first character."""
    return _position(module, getattr(node, "lineno", 1), getattr(node, "col_offset", 0))


def end_of(module: Module, node: ast.AST) -> tuple[int, int]:
    """The position after a node's last character."""
    return _position(module, getattr(node, "end_lineno", 1), getattr(node, "end_col_offset", 0))


def _position(module: Module, line: int, column: int) -> tuple[int, int]:
    text = module.lines[line - 1]
    return line, column if text.isascii() else len(text.encode()[:column].decode(errors="replace"))
