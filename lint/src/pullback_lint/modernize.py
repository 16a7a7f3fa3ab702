"""Rewrite `forward(ctx, …)` to `forward(…)` and `setup_context(ctx, inputs, output)`, as text.

Formatting and comments are kept: whole lines move, nothing is printed anew.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from pullback_lint import edits
from pullback_lint.fixes import apply
from pullback_lint.model import tables
from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.module import Module
from pullback_lint.model.queries import names_in
from pullback_lint.model.walk import walk
from pullback_lint.problem import Edit


class Outcome(NamedTuple):
    """What became of one class: its name, its line, and why it was left alone (empty if it was rewritten)."""

    name: str
    line: int
    reason: str


class Refusal(Exception):  # noqa: N818 # a refusal is an outcome, not an error
    """A class cannot be rewritten without a change of meaning."""


def modernize(
    source: str,
    place: Path | None = None,
    *,
    leave: Mapping[str, str] | None = None,
    unbatched: Collection[str] = (),
) -> tuple[str, list[Outcome]]:
    """Rewrite every class in the classic form that can be.

    Args:
        source: Python source.
        place: Where it lies.
        leave: Classes to leave alone, with the reason.
        unbatched: Classes that get no `generate_vmap_rule`.

    Returns:
        The new source, and an outcome for every class in the classic form.

    Raises:
        SyntaxError: The source is not Python.
    """
    module = Module(source, place)
    groups: list[tuple[Edit, ...]] = []
    outcomes = []
    for function in module.functions:
        if function.is_operator or function.has_setup_context or not function.own(function.forward):
            continue
        try:
            if leave and function.name in leave:
                raise Refusal(leave[function.name])
            groups.append(_rewrite(module, function, batched=function.name not in unbatched))
            reason = ""
        except Refusal as refusal:
            reason = str(refusal)
        outcomes.append(Outcome(function.name, function.node.lineno, reason))
    return apply(source, groups)[0], outcomes


def _rewrite(module: Module, function: Function, *, batched: bool) -> tuple[Edit, ...]:
    forward = function.forward
    if forward is None or not isinstance(function.node, ast.ClassDef):
        raise Refusal("it has no forward of its own")
    _check(module, function, forward)
    moved = [statement for statement in forward.node.body if _uses_ctx(forward, statement)]
    needed = set().union(*map(names_in, moved)) if moved else set()
    _check_names(forward, moved, needed)
    result = [_without_ctx(module, forward)]
    result += [edits.delete_line(statement) for statement in moved]
    result.append(_setup_context(module, forward, moved, needed))
    if batched and _can_be_batched(function):
        result.append(_vmap_rule(module, function.node))
    return tuple(result)


def _check(module: Module, function: Function, forward: Method) -> None:
    """Refuse what the two-part form cannot express."""
    if "staticmethod" not in forward.decorators:
        raise Refusal("forward is not a static method")
    if len(forward.decorators) > 1:
        raise Refusal("forward has further decorators")
    if function.ctx_escapes:
        raise Refusal("forward hands its context to another function")
    if forward.node.args.kwarg or forward.node.args.kwonlyargs:
        raise Refusal("forward takes keyword-only arguments")
    calls = (call.func for call in module.calls if isinstance(call.func, ast.Attribute))
    if any(func.attr == "forward" and names_in(func.value) == {function.name} for func in calls):
        raise Refusal("its forward is called directly in this file")
    for statement in forward.node.body:
        if _uses_ctx(forward, statement) and not _is_movable(forward, statement):
            raise Refusal(f"line {statement.lineno} uses the context together with the computation")


def _uses_ctx(forward: Method, node: ast.AST) -> bool:
    return forward.ctx in names_in(node)


def _is_movable(forward: Method, node: ast.stmt) -> bool:
    """Whether a statement does nothing but fill the context."""
    if isinstance(node, ast.If):
        return all(_is_movable(forward, child) for child in [*node.body, *node.orelse])
    if isinstance(node, ast.Assign):
        targets = [item for target in node.targets for item in getattr(target, "elts", [target])]
        return all(isinstance(item, ast.Attribute) and forward.flow.is_ctx(item.value) for item in targets)
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return isinstance(node, ast.Pass)
    func = node.value.func
    return isinstance(func, ast.Attribute) and forward.flow.is_ctx(func.value)


def _check_names(forward: Method, moved: list[ast.stmt], needed: set[str]) -> None:
    """Refuse to move statements that need more than inputs and outputs as they are at the end."""
    inputs = {parameter.name for parameter in forward.parameters} | ({forward.vararg} if forward.vararg else set())
    local = set(forward.flow.assignments)
    outputs = set(_outputs(forward))
    inner = needed & local - outputs
    if inner:
        raise Refusal(f"the context keeps `{min(inner)}`, which is neither an input nor an output")
    rebound = needed & local & outputs
    last = max((statement.lineno for statement in moved), default=0)
    for name in sorted(rebound | (needed & inputs & local)):
        stores = [node.lineno for node in walk(forward.node) if isinstance(node, ast.Name) and node.id == name
                  and isinstance(node.ctx, ast.Store)]  # fmt: skip
        if name in inputs or any(line > last for line in stores):
            raise Refusal(f"`{name}` is assigned anew in forward")


def _outputs(forward: Method) -> list[str]:
    """The names that the only return of forward returns, in order; an empty name for anything else."""
    returns = [item.node for item in forward.flow.returns.values()]
    if len(returns) != 1 or returns[0].value is None:
        return []
    value = returns[0].value
    elements = value.elts if isinstance(value, ast.Tuple) else [value]
    return [element.id if isinstance(element, ast.Name) else "" for element in elements]


def _without_ctx(module: Module, forward: Method) -> Edit:
    """Take the context out of forward's parameters."""
    first, *rest = forward.names
    start = edits.start_of(module, first)
    following = rest[0] if rest else forward.node.args.vararg
    if following is None:
        return Edit(start, edits.end_of(module, first), "")
    line, column = edits.start_of(module, following)
    stars = 1 if not rest else 0
    return Edit(start, (line, column - stars), "")


def _setup_context(module: Module, forward: Method, moved: list[ast.stmt], needed: set[str]) -> Edit:
    line = module.lines[forward.node.lineno - 1]
    indent = line[: len(line) - len(line.lstrip())]
    body = [*_unpack_inputs(forward, needed), *_unpack_outputs(forward, needed)]
    for statement in moved:
        lines = module.lines[statement.lineno - 1 : statement.end_lineno]
        body += textwrap.dedent("\n".join(lines)).split("\n")
    text = ["", f"{indent}@staticmethod", f"{indent}def setup_context({forward.ctx}, inputs, output):"]
    text += [f"{indent}    {item}" if item else "" for item in body or ["pass"]]
    end = (forward.node.end_lineno or forward.node.lineno) + 1
    return Edit((end, 0), (end, 0), "\n".join(text) + "\n")


def _unpack_inputs(forward: Method, needed: set[str]) -> list[str]:
    names = [parameter.name if parameter.name in needed else "_" for parameter in forward.parameters]
    if forward.vararg:
        names.append(f"*{forward.vararg if forward.vararg in needed else '_'}")
    if not any(name not in {"_", "*_"} for name in names):
        return []
    return [f"({names[0]},) = inputs" if len(names) == 1 and not forward.vararg else f"{', '.join(names)} = inputs"]


def _unpack_outputs(forward: Method, needed: set[str]) -> list[str]:
    outputs = _outputs(forward)
    inputs = {parameter.name for parameter in forward.parameters}
    names = [name if name in needed and name not in inputs else "_" for name in outputs]
    if all(name == "_" for name in names):
        return []
    return [f"{', '.join(names)} = output"]


def _can_be_batched(function: Function) -> bool:
    """Whether PyTorch can derive the batching rule: forward and backward are made of its operations alone."""
    if function.backward is None or "vmap" in function.members or "generate_vmap_rule" in function.attributes:
        return False
    flows = [*function.fillers, *function.readers]
    if any(flow.mutations for flow in flows):
        return False
    calls = [call for flow in flows for call in flow.calls.values() if not call.dotted.startswith("ctx.")]
    return all(_is_batchable(call.dotted, call.name, is_method=call.receiver is not None) for call in calls)


def _is_batchable(dotted: str, name: str, *, is_method: bool) -> bool:
    known = name in tables.TENSOR_OPS | tables.META and name not in {"item", "tolist", "numpy", "nonzero", "unique"}
    return known and (is_method or dotted.startswith(("torch.", "math.")) or dotted in {"len", "isinstance"})


def _vmap_rule(module: Module, node: ast.ClassDef) -> Edit:
    first = node.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    after = (first.end_lineno or first.lineno) + 1 if documented else _first_line(first)
    line = module.lines[_first_line(first) - 1]
    indent = line[: len(line) - len(line.lstrip())]
    text = f"\n{indent}generate_vmap_rule = True\n" if documented else f"{indent}generate_vmap_rule = True\n\n"
    return Edit((after, 0), (after, 0), text)


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(item.lineno for item in decorators)])
