"""The forward and backward of a target as syntax trees, and which parameters lie behind the names on a line."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pullback import _torch
from pullback.check.target import Target, has_setup, own_backward

SAME = {
    "contiguous",
    "float",
    "double",
    "half",
    "detach",
    "clone",
    "to",
    "cuda",
    "cpu",
    "data",
    "requires_grad_",
    "type",
}


@dataclass(frozen=True)
class Method:
    """One function of a target: its tree, the line that its file has it on, and its code."""

    tree: ast.FunctionDef
    start: int
    code: Any

    def blamed(self, line: int) -> ast.AST | None:
        """The code at a line of the file: its innermost statement, for ``raise`` the condition around it."""
        at = line - self.start + 1
        found = [n for n in ast.walk(self.tree) if isinstance(n, ast.stmt) and n is not self.tree
                 and n.lineno <= at <= (n.end_lineno or n.lineno)]  # fmt: skip
        around = sorted(found, key=lambda n: n.lineno)
        if around and isinstance(around[-1], ast.Raise):
            around = [n for n in around if isinstance(n, ast.If)]
        return _head(around[-1]) if around else None


def methods(target: Target) -> list[Method]:
    """Forward first, then what keeps the context, then backward; those whose source can be had."""
    cls = target.function
    if cls is not None:
        fns = [cls.forward, cls.setup_context if has_setup(cls) else None, own_backward(cls)]
    elif target.kind == "operator":
        parts = _torch.custom_op_parts(target.subject)
        fns = [parts.forward, parts.setup_context, parts.backward]
    else:
        fns = [target.subject.forward if target.kind == "module" else target.subject]
    return [made for fn in fns if fn is not None and (made := method(fn)) is not None]


def method(fn: Callable[..., Any]) -> Method | None:
    """The tree of a function, None without source."""
    fn = inspect.unwrap(fn)
    fn = getattr(fn, "__func__", fn)
    try:
        lines, start = inspect.getsourcelines(fn)
        module = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    node = next((n for n in ast.walk(module) if isinstance(n, ast.FunctionDef)), None)
    return None if node is None else Method(node, start, getattr(fn, "__code__", None))


def _head(statement: ast.stmt) -> ast.AST:
    """The part of a compound statement that stands on its line."""
    parts = (getattr(statement, part, None) for part in ("test", "iter"))
    return next((part for part in parts if isinstance(part, ast.AST)), statement)


class Names:
    """Which parameters stand behind a name: directly (``is_``) or through what was computed from them (``behind``)."""

    def __init__(self, parameters: tuple[str, ...], found: list[Method]) -> None:
        self.alias = {name: name for name in parameters}
        self.from_: dict[str, set[str]] = {name: {name} for name in parameters}
        self.saved: list[str | None] = []
        for one in found:
            for node in ast.walk(one.tree):
                self._note(node)

    def _note(self, node: ast.AST) -> None:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "save_for_backward":
                self.saved = [self.is_(argument) for argument in node.args]
                self.from_["saved_tensors"] = set().union(*[self.behind(a) for a in node.args])
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            self._assign(node.targets[0], node.value)
        elif isinstance(node, ast.For):
            self._loop(node.target, node.iter)

    def _assign(self, left: ast.expr, right: ast.expr) -> None:
        origin = self.behind(right)
        if isinstance(left, ast.Tuple):
            values = self._unpacked(right, len(left.elts))
            for name, value in zip(left.elts, values, strict=True):
                self._bind(name, value, origin)
        else:
            self._bind(left, self.is_(right), origin)

    def _loop(self, left: ast.expr, over: ast.expr) -> None:
        """``for x, y in zip(xs, ys)``: each comes from its own; any other loop from all that it runs over."""
        zipped = over.args if isinstance(over, ast.Call) and getattr(over.func, "id", "") == "zip" else []
        names = left.elts if isinstance(left, ast.Tuple) else [left]
        for place, name in enumerate(names):
            self._bind(name, None, self.behind(zipped[place] if place < len(zipped) else over))

    def _unpacked(self, right: ast.expr, count: int) -> list[str | None]:
        if isinstance(right, ast.Attribute) and right.attr in ("saved_tensors", "saved_variables"):
            return [*self.saved, *[None] * count][:count]
        if isinstance(right, ast.Tuple) and len(right.elts) == count:
            return [self.is_(value) for value in right.elts]
        return [None] * count

    def _bind(self, left: ast.expr, same: str | None, origin: set[str]) -> None:
        name = key(left)
        if name is None:
            return
        if same is not None and name not in self.alias:
            self.alias[name] = same
        if name not in self.from_:
            self.from_[name] = origin

    def is_(self, node: ast.expr) -> str | None:
        """The parameter that an expression is, as it came or as a copy."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SAME:
            return self.is_(node.func.value)
        if isinstance(node, ast.Attribute) and node.attr in SAME:
            return self.is_(node.value)
        if isinstance(node, ast.Subscript) and key(node.value) == "saved_tensors":
            at = node.slice.value if isinstance(node.slice, ast.Constant) else None
            return self.saved[at] if isinstance(at, int) and 0 <= at < len(self.saved) else None
        return self.alias.get(key(node) or "")

    def behind(self, node: ast.AST) -> set[str]:
        """The parameters that an expression is computed from."""
        found: set[str] = set()
        for child in ast.walk(node):
            name = key(child)
            if name is not None:
                found |= self.from_.get(name, set())
        return found


def key(node: ast.AST) -> str | None:
    """How a variable or an attribute of the context is known: ``x``, ``.scale``, ``saved_tensors``."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return "saved_tensors" if node.attr in ("saved_tensors", "saved_variables") else f".{node.attr}"
    return None


def returned(target: Target) -> list[bool]:
    """For every slot that backward returns, whether it ever holds something other than None."""
    backward = own_backward(target.function) if target.function else None
    found = method(backward) if backward is not None else None
    slots: list[bool] = []
    for elements in _returns(found):
        here = [not (isinstance(e, ast.Constant) and e.value is None) for e in elements]
        size = max(len(slots), len(here))
        slots = [a or b for a, b in zip(_long(slots, size), _long(here, size), strict=True)]
    return slots


def summed(target: Target) -> set[int]:
    """The slots that backward fills with the sum of everything: one number."""
    backward = own_backward(target.function) if target.function else None
    found = method(backward) if backward is not None else None
    made = {key(node.targets[0]): node.value for node in ast.walk(found.tree) if isinstance(node, ast.Assign)
            } if found else {}  # fmt: skip
    return {place for elements in _returns(found) for place, element in enumerate(elements)
            if _is_sum(made.get(key(element), element))}  # fmt: skip


def _is_sum(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return _is_sum(node.operand)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, (ast.Mult, ast.Div)) and (_is_sum(node.left) or _is_sum(node.right))
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "sum"):
        return False
    of_torch = isinstance(node.func.value, ast.Name) and node.func.value.id == "torch"  # torch.sum(x), x.sum()
    return len(node.args) == int(of_torch) and not node.keywords


def _returns(found: Method | None) -> Iterator[list[ast.expr]]:
    for node in ast.walk(found.tree) if found else ():
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
            if any(isinstance(e, ast.Starred) for e in node.value.elts):
                return
            yield node.value.elts


def _long(slots: list[bool], size: int) -> list[bool]:
    return slots + [False] * (size - len(slots))
