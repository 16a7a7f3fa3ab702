"""What a module passes where it calls a Function itself: the likeliest numbers, flags and words."""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from collections.abc import Iterator
from typing import Any

from pullback.check.target import Target

PLAIN = (bool, int, float, str)


def literals(target: Target) -> dict[int | str, list[Any]]:
    """The plain values that the target's own module passes, by position or keyword."""
    found: dict[int | str, list[Any]] = {}
    module = sys.modules.get(getattr(target.subject, "__module__", ""), None)
    tree = _tree(_file(target.subject))
    if target.function is None or tree is None:
        return found
    space = vars(module) if module is not None else {}
    for call in _calls(tree, target.function.__name__):
        places: list[tuple[int | str, ast.expr]] = [*enumerate(call.args)]
        for place, node in [*places, *((k.arg, k.value) for k in call.keywords if k.arg)]:
            for value in _values(node, space, tree):
                if value not in found.setdefault(place, []):
                    found[place].append(value)
    return found


def _file(subject: Any) -> str | None:
    try:
        return inspect.getsourcefile(subject)
    except TypeError:
        return None


@functools.lru_cache(maxsize=4)
def _tree(file: str | None) -> ast.Module | None:
    if file is None:
        return None
    import linecache

    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return None


def _calls(tree: ast.Module, name: str) -> Iterator[ast.Call]:
    """Calls of ``name.apply``, also under another name that the module gives it."""
    applies = {f"{name}.apply", f"{name}().apply"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and ast.unparse(node.value) in applies:
            applies |= {ast.unparse(left) for left in node.targets}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in applies:
            yield node


def _values(node: ast.expr, space: dict[str, Any], tree: ast.Module) -> Iterator[Any]:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError):
        value = space.get(node.id) if isinstance(node, ast.Name) else None
    if isinstance(value, PLAIN) or (isinstance(value, tuple) and all(isinstance(v, PLAIN) for v in value)):
        yield value
    elif value is None and isinstance(node, (ast.Name, ast.Attribute)):
        yield from _defaults(node.id if isinstance(node, ast.Name) else node.attr, tree, space)


def _defaults(name: str, tree: ast.Module, space: dict[str, Any]) -> Iterator[Any]:
    """The defaults of parameters of a name, of whatever function of the module: ``__init__`` most of the time."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            given = node.args.args[len(node.args.args) - len(node.args.defaults) :]
            pairs = [*zip(given, node.args.defaults, strict=True)]
            pairs += [(a, d) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is not None]
            for argument, default in pairs:
                value = default.value if isinstance(default, ast.Constant) else space.get(getattr(default, "id", ""))
                if argument.arg == name and isinstance(value, PLAIN):
                    yield value
