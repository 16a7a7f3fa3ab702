"""Rewrite `forward(ctx, …)` to `forward(…)` and `setup_context(ctx, inputs, output)`, as text.

Formatting and comments are kept: whole lines move, nothing is printed anew.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from pullback_lint import edits
from pullback_lint.fixes import apply
from pullback_lint.model import tables
from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.module import Module, ancestry
from pullback_lint.model.queries import names_in
from pullback_lint.moving import Plan, Refusal, plan
from pullback_lint.problem import Edit

HARMLESS = frozenset({
    "staticmethod", "classmethod", "typing.no_type_check", "torch.no_grad", "torch.jit.ignore", "torch.jit.unused",
})  # fmt: skip
"""Decorators of forward that do not look at its context."""


class Outcome(NamedTuple):
    """What became of one class: its name, its line, and why it was left alone (empty if it was rewritten)."""

    name: str
    line: int
    reason: str


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
    classic = [item for item in module.functions if not item.is_operator and not item.has_setup_context]
    classic = [item for item in classic if item.own(item.forward)]
    attempts = [
        _attempt(module, item, (leave or {}).get(item.name, ""), item.name not in unbatched) for item in classic
    ]
    results = _with_their_bases(module, classic, attempts)
    outcomes = [
        Outcome(item.name, item.node.lineno, result if isinstance(result, str) else "")
        for item, result in zip(classic, results, strict=True)
    ]
    return apply(source, [result for result in results if not isinstance(result, str)])[0], outcomes


Attempt = tuple[Edit, ...] | str
"""The edits that rewrite a class, or why it is left alone."""


def _attempt(module: Module, function: Function, leave: str, batched: bool) -> Attempt:  # private
    try:
        return leave or _rewrite(module, function, batched=batched)
    except Refusal as refusal:
        return str(refusal)


def _with_their_bases(module: Module, classic: list[Function], attempts: list[Attempt]) -> list[Attempt]:
    """Leave bases alone whose derived classes stay: those would inherit a setup_context that does not fit."""
    staying = [item for item, attempt in zip(classic, attempts, strict=True) if isinstance(attempt, str)]
    above = {
        base: item.name
        for item in staying
        if isinstance(item.node, ast.ClassDef)
        for base, _, _ in ancestry(module, item.node)
    }
    return [
        f"`{above[item.node]}`, which is derived from it, stays as it is"
        if not isinstance(attempt, str) and item.node in above
        else attempt
        for item, attempt in zip(classic, attempts, strict=True)
    ]


def _rewrite(module: Module, function: Function, *, batched: bool) -> tuple[Edit, ...]:
    forward = function.forward
    if forward is None or not isinstance(function.node, ast.ClassDef):
        raise Refusal("it has no forward of its own")
    _check(module, function, forward)
    moves = plan(function, forward)
    _check_lines(forward, moves)
    result = [_without_ctx(module, forward)]
    result += [edit for node, text in moves.replaced.items() for edit in edits.replace_node(module, node, text)]
    result += [Edit((_top(module, item), 0), ((item.end_lineno or 0) + 1, 0), "") for item in moves.moved]
    result.append(_setup_context(module, forward, moves))
    result += _padded(module, function)
    if batched and _can_be_batched(function):
        result.append(_vmap_rule(module, function.node))
    return tuple(result)


def _padded(module: Module, function: Function) -> list[Edit]:
    """Gradients for inputs with defaults: with setup_context these count as inputs even if no call passes them."""
    if function.backward is None or function.forward is None or function.forward.vararg:
        return []
    found: list[Edit] = []
    for result, elements in function.gradients:
        missing = len(function.inputs) - len(elements)
        added = edits.pad_return(module, result.node, missing)
        if missing > 0 and isinstance(result.node.value, ast.Name) and elements[0].node is result.node.value:
            added = (edits.insert_after(module, result.node.value, ", None" * missing),)
        if missing > 0 and not (added and function.own(function.backward)):
            raise Refusal(f"backward returns {len(elements)} gradients and would need {len(function.inputs)}")
        found += added
    return found


def _check(module: Module, function: Function, forward: Method) -> None:
    """Refuse what the two-part form cannot express."""
    if not {"staticmethod", "classmethod"} & set(forward.decorators):
        raise Refusal("forward is not a static method")
    strange = sorted(set(forward.decorators) - HARMLESS)
    if strange:
        raise Refusal(f"forward is decorated with `{strange[0]}`" if strange[0] else "forward has further decorators")
    if function.ctx_escapes:
        raise Refusal("forward hands its context to another function")
    if forward.node.args.kwarg or forward.node.args.kwonlyargs:
        raise Refusal("forward takes keyword-only arguments")
    calls = (call.func for call in module.calls if isinstance(call.func, ast.Attribute))
    if any(func.attr == "forward" and names_in(func.value) == {function.name} for func in calls):
        raise Refusal("its forward is called directly in this file")


def _check_lines(forward: Method, moves: Plan) -> None:
    """Refuse to move a statement that shares its lines with one that stays."""
    for statement in forward.node.body:
        lines = {statement.lineno, statement.end_lineno}
        if statement not in moves.moved and any(lines & {item.lineno, item.end_lineno} for item in moves.moved):
            raise Refusal(f"line {statement.lineno} holds several statements")
    if any(item.lineno == forward.node.lineno for item in moves.moved):
        raise Refusal("forward is written in one line")


def _top(module: Module, statement: ast.stmt) -> int:
    """The line where a statement begins, with the comments that stand directly above it."""
    top = statement.lineno
    while re.match(rf"[ \t]{{{statement.col_offset}}}#", module.lines[top - 2]):
        top -= 1
    return top


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


def _setup_context(module: Module, forward: Method, moves: Plan) -> Edit:
    line = module.lines[forward.node.lineno - 1]
    indent = line[: len(line) - len(line.lstrip())]
    body = _unpacked(forward, moves)
    for statement in sorted([*moves.moved, *moves.shared], key=lambda item: item.lineno):
        lines = module.lines[_top(module, statement) - 1 : statement.end_lineno]
        body += textwrap.dedent("\n".join(lines)).split("\n")
    bound = "classmethod" in forward.decorators
    first = f"{forward.node.args.args[0].arg}, " if bound else ""
    text = ["", f"{indent}@{'classmethod' if bound else 'staticmethod'}"]
    text += [f"{indent}def setup_context({first}{forward.ctx}, inputs, output):"]
    text += [f"{indent}    {item}" if item else "" for item in body or ["pass"]]
    end = (forward.node.end_lineno or forward.node.lineno) + 1
    return Edit((end, 0), (end, 0), "\n".join(text) + "\n")


def _unpacked(forward: Method, moves: Plan) -> list[str]:
    """The lines that name inputs and outputs; outputs first where an input has their name."""
    inputs, outputs = _unpack_inputs(forward, moves.needed), _unpack_outputs(forward, moves)
    return outputs + inputs if "output" in {parameter.name for parameter in forward.parameters} else inputs + outputs


def _unpack_inputs(forward: Method, needed: Collection[str]) -> list[str]:
    names = [parameter.name if parameter.name in needed else "_" for parameter in forward.parameters]
    if forward.vararg:
        names.append(f"*{forward.vararg if forward.vararg in needed else '_'}")
    if not any(name not in {"_", "*_"} for name in names):
        return []
    return [f"({names[0]},) = inputs" if len(names) == 1 and not forward.vararg else f"{', '.join(names)} = inputs"]


def _unpack_outputs(forward: Method, moves: Plan) -> list[str]:
    inputs = {parameter.name for parameter in forward.parameters}
    wanted = (moves.needed - inputs) | {"*_"}
    names = [name if name in wanted else "_" for name in moves.outputs]
    if not set(names) - {"_", "*_"} or (names == ["output"] and not moves.is_tuple):
        return []
    return [f"({names[0]},) = output" if moves.is_tuple and len(names) == 1 else f"{', '.join(names)} = output"]


def _can_be_batched(function: Function) -> bool:
    """Whether PyTorch can derive the batching rule: forward and backward are made of its operations alone."""
    if function.backward is None or "vmap" in function.members or "generate_vmap_rule" in function.attributes:
        return False
    flows = [*function.fillers, *function.readers]
    if any(flow.mutations for flow in flows):
        return False
    calls = [call for flow in flows for call in flow.calls.values() if not call.dotted.startswith("ctx.")]
    return all(_is_batchable(call.dotted, call.name, is_method=call.receiver is not None) for call in calls)


_UNBATCHED = tables.words("item tolist numpy nonzero unique")


def _is_batchable(dotted: str, name: str, *, is_method: bool) -> bool:
    known = name in (tables.TENSOR_OPS | tables.META) - tables.RANDOM - _UNBATCHED
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
