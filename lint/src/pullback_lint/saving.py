"""Rewrite `ctx.x = x` … `ctx.x` to `save_for_backward` and `saved_tensors`, as text edits."""

from __future__ import annotations

import ast

from pullback_lint import edits
from pullback_lint.model.events import AttributeSet
from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.module import Module
from pullback_lint.problem import Edit


def save_instead(function: Function, items: list[AttributeSet]) -> tuple[Edit, ...]:
    """The edits that save inputs instead of keeping them as attributes; none where that is not plainly right.

    Args:
        function: The class.
        items: The assignments of inputs to attributes.
    """
    forward, backward = function.forward, function.backward
    if not items or forward is None or backward is None or not _is_plain(function, forward, backward):
        return ()
    statements = [_statement(forward, item) for item in items]
    names = [item.expr.id for item in items if isinstance(item.expr, ast.Name)]
    if None in statements or len(set(names)) != len(items) or _is_bound(backward, names):
        return ()
    first, *others = [statement for statement in statements if statement is not None]
    module = function.module
    result = [*edits.replace_node(module, first, f"{forward.ctx}.save_for_backward({', '.join(names)})")]
    result += [edits.delete_line(other) for other in others]
    result.append(_unpack(module, backward, names))
    attributes = {item.name: name for item, name in zip(items, names, strict=True)}
    for read in backward.flow.reads.values():
        if read.name in attributes:
            result += edits.replace_node(module, read.node, attributes[read.name])
    return tuple(result)


def _is_plain(function: Function, forward: Method, backward: Method) -> bool:
    """Whether the class is in the classic form, saves nothing yet, and keeps its context to itself."""
    others = {"setup_context", "jvp", "vmap"} & function.members.keys()
    escapes = function.ctx_escapes or backward.flow.ctx_escapes
    return function.own(forward) and function.own(backward) and not (function.saves or others or escapes)


def _statement(forward: Method, item: AttributeSet) -> ast.Assign | None:
    """The statement of an assignment, if it stands alone and unconditionally."""
    for statement in forward.node.body:
        if isinstance(statement, ast.Assign) and statement.targets == [item.node]:
            return statement
    return None


def _is_bound(backward: Method, names: list[str]) -> bool:
    parameters = {parameter.name for parameter in backward.parameters}
    return any(name in backward.flow.assignments or name in parameters for name in names)


def _unpack(module: Module, backward: Method, names: list[str]) -> Edit:
    body = backward.node.body
    first = body[1] if _is_docstring(body[0]) and len(body) > 1 else body[0]
    targets = f"({names[0]},)" if len(names) == 1 else ", ".join(names)
    indent = module.lines[first.lineno - 1][: first.col_offset]
    return edits.insert_before(module, first, f"{targets} = {backward.ctx}.saved_tensors\n{indent}")


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
