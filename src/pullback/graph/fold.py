"""Statements of the author's own text as formatters write them: spacing of powers, quotes, long lines folded."""

from __future__ import annotations

import ast
import copy
import itertools
import re
from collections.abc import Iterable

_TIGHT = re.compile(r"(?<![\w.)\]])([A-Za-z_]\w*(?:[.]\w+)*|\d[\w.]*) \*\* (-?[A-Za-z_]\w*|-?\d[\w.]*)(?![\w.(\[])")
_LEVELS = ((ast.BitOr,), (ast.BitAnd,), (ast.Add, ast.Sub), (ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.MatMult))
_SIGNS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
}


def unparse(node: ast.AST) -> str:
    """Source of a syntax tree as formatters write it.

    >>> unparse(ast.parse("f(x, 'tanh') + -(1 - x)**2"))
    'f(x, "tanh") + -((1 - x) ** 2)'
    """
    marked = _Marked().visit(copy.deepcopy(node)) if any(map(_negated_power, ast.walk(node))) else node
    code = _TIGHT.sub(r"\1**\2", ast.unparse(ast.fix_missing_locations(marked))).replace("_negated_(", "(")
    code = re.sub(r"(\d)e\+(\d)", r"\1e\2", code)
    return re.sub(r"'([^'\"\\]*)'", r'"\1"', code)


def _negated_power(node: ast.AST) -> bool:
    inner = node.operand if isinstance(node, ast.UnaryOp) else None
    return isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Pow)


class _Marked(ast.NodeTransformer):
    """Marks negated powers, which formatters put in parentheses."""

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if _negated_power(node):
            node.operand = ast.Call(ast.Name("_negated_"), [node.operand], [])
        return node


def fold(line: str, room: int) -> str:
    """A statement without needless parentheses, in lines that fit, broken where formatters break it.

    >>> print(fold("y = torch.where(x > 0, torch.sqrt(x), torch.exp(x))", 40))
    y = torch.where(
        x > 0, torch.sqrt(x), torch.exp(x)
    )
    """
    if line.startswith(("if ", " ")):
        return line
    if line.startswith("def "):
        return "\n".join([line] if len(line) <= room else _opened(line, room))
    node = ast.parse(line).body[0]
    value = getattr(node, "value", None)
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
        line = line if len(line) <= room else f"{unparse(node.targets[0])} = {unparse(node.value)}"
    else:
        line = unparse(node)
    if value is None or len(line) <= room:
        return line
    if isinstance(value, ast.BinOp):
        return "\n".join(_sum(line[: len(line) - len(unparse(value))], value, room))
    return "\n".join(_opened(line, room))


def _sum(head: str, value: ast.BinOp, room: int) -> list[str]:
    """A statement whose value is a sum or product: in brackets of its own, unless opening those that it has will do."""
    whole, terms = unparse(value), _terms(value)
    if len(terms) <= 2 and (whole[0] == "(" or re.search(r"[^(\[][)\]](?:[.]\w+)*$", whole)):
        lines = _opened(head + whole, room)
        if all(len(line) <= room for line in lines):
            return lines
    return [f"{head}(", *_indented(_expression(whole, room - 4)), ")"]


def _opened(text: str, room: int) -> list[str]:
    """A text with brackets, each opened from which on it would not fit up to where the next may be."""
    lines, line, at = [], "", 0
    groups = [(start, end) for start, end in _brackets(text) if end > start + 1]
    for place, (start, end) in enumerate(groups):
        line += text[at : start + 1]
        stop = groups[place + 1][0] + 1 if place + 1 < len(groups) else len(text)
        at = end
        if len(line) + stop - start - 1 <= room:
            line += text[start + 1 : end]
        else:
            call = start > 0 and (text[start - 1].isalnum() or text[start - 1] in "_)]")
            lines += [line, *_indented(_content(text[start + 1 : end], room - 4, call))]
            line = ""
    return [*lines, line + text[at:]]


def _brackets(text: str) -> list[tuple[int, int]]:
    """Where the outermost brackets of a text open and close."""
    found, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        if sign in "([{":
            depth, start = depth + 1, at if depth == 0 else start
        elif sign in ")]}":
            depth -= 1
            found += [(start, at)] if depth == 0 else []
    return found


def _content(text: str, room: int, call: bool) -> list[str]:
    """What stands between brackets: arguments in one line if they fit, else in lines of their own."""
    cuts = [at for at, sign in enumerate(text) if sign == "," and not any(a < at < b for a, b in _brackets(text))]
    items = [text[a:b].strip() for a, b in itertools.pairwise([0, *(cut + 1 for cut in cuts), len(text) + 1])]
    items = [item.removesuffix(",") for item in items if item]
    if not cuts or (call and len(text) <= room):
        return _expression(text, room)
    whole = [_expression(item, room - 1) for item in items]
    return [line for lines in whole for line in (*lines[:-1], f"{lines[-1]},")]


def _expression(text: str, room: int) -> list[str]:
    """An expression in brackets: the operands of its outermost operator in lines of their own where it is too long."""
    if len(text) <= room or re.match(r"\w+=[^=]|lambda ", text):
        return [text] if len(text) <= room else _opened(text, room)
    value = getattr(ast.parse(text).body[0], "value", None)
    if not isinstance(value, ast.BinOp):
        return _opened(text, room)
    if isinstance(value.op, ast.Pow):
        base, _, exponent = text.rpartition(" ** ")
        return [*_opened(base, room), f"** {exponent}"]
    lines = []
    for term in _terms(value):
        sign = next((f"{s} " for s in _SIGNS.values() if term.startswith(f"{s} ")), "")
        operand = term.removeprefix(sign)
        first, *rest = [operand] if len(term) <= room else _expression(operand, room - len(sign))
        lines += [sign + first, *rest]
    return lines


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _terms(value: ast.BinOp) -> list[str]:
    """The operands of the outermost operator and its equals, each after the first led by its sign."""
    level = next(kinds for kinds in _LEVELS if isinstance(value.op, kinds)) if not isinstance(value.op, ast.Pow) else ()
    parts: list[str] = []
    node: ast.expr = value
    while isinstance(node, ast.BinOp) and isinstance(node.op, level):
        right = unparse(node.right)
        parts.insert(0, f"{_SIGNS[type(node.op)]} {f'({right})' if _lower(node.right, level) else right}")
        node = node.left
    left = unparse(node)
    return [f"({left})" if _lower(node, level) else left, *parts]


def _lower(node: ast.expr, level: tuple[type, ...]) -> bool:
    weaker = [kind for kinds in _LEVELS[: _LEVELS.index(level) + 1] for kind in kinds] if level else []
    return isinstance(node, ast.Compare) or (isinstance(node, ast.BinOp) and isinstance(node.op, tuple(weaker)))
