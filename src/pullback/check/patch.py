"""A formula put into the author's own lines: what ``return`` in backward gives for one argument, replaced.

The changed backward is run before it is shown: a patch that does not mend the gradient is none.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pullback.check import compare
from pullback.check.case import Case
from pullback.check.trouble import filled


@dataclass(frozen=True)
class Patch:
    """The changed line in the form of a diff, and where it is."""

    text: str
    line: int


def mending(case: Case, argument: str, formula: str) -> Patch | None:
    """The line of backward to change, with the right formula in it; None where no such change mends the gradient.

    Args:
        case: What is checked, with the samples that show that it is wrong.
        argument: Whose gradient is wrong.
        formula: The right gradient, in the names of forward's arguments and of the incoming gradient.
    """
    try:
        lines, first = inspect.getsourcelines(inspect.unwrap(case.target.backward))  # type: ignore[arg-type]
        source = textwrap.dedent("".join(lines))
        function = ast.parse(source).body[0]
        forward = ast.parse(textwrap.dedent(inspect.getsource(case.target.function.forward)))  # type: ignore[union-attr]
        slot = _slot(function, list(case.arguments.names).index(argument), len(case.arguments.names))
        if slot is None or not isinstance(function, ast.FunctionDef):
            return None
        changed = _replaced(source, slot, _renamed(formula, _aliases(forward, function, case.target.context)))
        if not _mends(case, argument, function.name, changed):
            return None
    except Exception:  # no source, or a way of writing that is not foreseen
        return None
    at = slot.lineno - 1
    before, after = lines[at].rstrip(), changed.splitlines()[at]
    indent = before[: len(before) - len(before.lstrip())]
    return Patch(f"-{before}\n+{indent}{after.lstrip()}", first + at)


def _slot(function: ast.AST, position: int, count: int) -> ast.expr | None:
    """The expression that is returned for an argument, where there is one ``return`` and it is on one line."""
    returns = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
    if len(returns) != 1 or returns[0].value is None:
        return None
    value = returns[0].value
    elements = value.elts if isinstance(value, ast.Tuple) else [value]
    found = elements[position] if len(elements) == count else None
    return found if found is not None and found.lineno == found.end_lineno else None


def _aliases(forward: ast.AST, backward: ast.AST, ctx: str) -> dict[str, str]:
    """What backward calls the things that forward kept: saved tensors by position, attributes of the context."""
    saved = [_name(a) for node in _calls(forward, "save_for_backward") for a in node.args]
    taken = [
        [_name(e) for e in (target.elts if isinstance(target, ast.Tuple) else [target])]
        for node in ast.walk(backward)
        if isinstance(node, ast.Assign) and "saved_tensors" in ast.unparse(node.value)
        for target in node.targets
    ]
    aliases = {
        a: b for names in taken if len(names) == len(saved) for a, b in zip(saved, names, strict=True) if a and b
    }
    for node in ast.walk(forward):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            for target in node.targets:
                if isinstance(target, ast.Attribute):
                    aliases.setdefault(node.value.id, f"{ctx}.{target.attr}")
    returned = [_name(node.value) for node in ast.walk(forward) if isinstance(node, ast.Return) and node.value]
    kept = [aliases[name] for name in returned if name in aliases]
    return {**aliases, "output": kept[0]} if kept else aliases


def _calls(tree: ast.AST, name: str) -> list[ast.Call]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [c for c in calls if isinstance(c.func, ast.Attribute) and c.func.attr == name]


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _renamed(formula: str, aliases: dict[str, str]) -> str:
    class Rename(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return ast.parse(aliases[node.id], mode="eval").body if node.id in aliases else node

    return ast.unparse(Rename().visit(ast.parse(formula, mode="eval")))


def _replaced(source: str, slot: ast.expr, formula: str) -> str:
    lines = source.splitlines()
    line = lines[slot.lineno - 1].encode()
    lines[slot.lineno - 1] = (line[: slot.col_offset] + formula.encode() + line[slot.end_col_offset :]).decode()
    return "\n".join(lines)


def _mends(case: Case, argument: str, name: str, source: str) -> bool:
    """Whether the changed backward gives the right gradient in every sample."""
    space: dict[str, Any] = dict(inspect.unwrap(case.target.backward).__globals__)  # type: ignore[arg-type]
    exec(compile(source, "<patch>", "exec"), space)  # the author's own function, changed in one place
    made = space[name]
    backward: Callable[..., Any] = made.__func__ if isinstance(made, staticmethod) else made
    twin = Case(replace(case.target, backward=backward), case.given, case.arguments)
    leaf = case.arguments.diff_names.index(argument)
    return all(
        compare.same(twin.replay(s.arguments, filled(s, s.incoming))[leaf], s.expected[leaf], "single")
        for s in case.facts["samples"]
    )
