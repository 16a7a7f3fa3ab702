"""Statements of the author's own text as formatters write them: spacing of powers, quotes, long lines folded."""

from __future__ import annotations

import ast
import copy
import re

_TIGHT = re.compile(r"(?<![\w.)\]])([A-Za-z_]\w*(?:[.]\w+)*|\d[\w.]*) \*\* (-?[A-Za-z_]\w*|-?\d[\w.]*)(?![\w.(\[])")
_ATTRIBUTES = re.compile(r"\)((?:[.]\w+)+)$")
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
    """A statement without needless parentheses, in lines that fit if it has an outermost operator or call."""
    if line.startswith(("if ", " ")):
        return line
    node = ast.parse(line).body[0]
    value = getattr(node, "value", None)
    if value is None or any(isinstance(target, ast.Tuple) for target in getattr(node, "targets", [])):
        return line
    line = unparse(node)
    if len(line) <= room:
        return line
    head = line[: len(line) - len(unparse(value))]
    if isinstance(value, ast.BinOp):
        whole = unparse(value)
        if len(_terms(value)) == 2 and (split := _at_last_bracket(head + whole, room)):
            return split
        inner = [whole] if len(whole) + 4 <= room else [p for part in _terms(value) for p in _deeper(part, room - 4)]
        return "\n".join([f"{head}(", *(f"    {part}" for part in inner), ")"])
    if isinstance(value, ast.Subscript):
        return _at_rightmost(head + unparse(value), room) or _pulled(head, value, room) or line
    return _call(head, value, room) if isinstance(value, ast.Call) else line


def _at_rightmost(text: str, room: int) -> str:
    """A chain of calls and subscripts, split at the rightmost bracket up to which it fits."""
    depth, end = 0, len(text)
    for at in range(len(text) - 1, 0, -1):
        if text[at] in ")]":
            depth, end = depth + 1, at if depth == 0 else end
        elif text[at] in "([":
            depth -= 1
            if depth == 0 and at < room and text[at + 1 : end] and len(text) - end <= room and end - at + 3 <= room:
                return f"{text[: at + 1]}\n    {text[at + 1 : end]}\n{text[end:]}"
    return ""


def _pulled(head: str, value: ast.Subscript, room: int) -> str:
    """``torch.func.vjp(lambda argument: …, x)[1](g)[0]``, with the first call's arguments in lines of their own."""
    pulled = value.value.func if isinstance(value.value, ast.Call) else None
    call = pulled.value if isinstance(pulled, ast.Subscript) else None
    if not isinstance(call, ast.Call) or not isinstance(call.args[0], ast.Lambda):
        return ""
    made, at = call.args
    tail = unparse(value)[len(unparse(call)) :]
    inner = [f"    {unparse(made)}, {unparse(at)}"]
    if len(inner[0]) > room:
        body = made.body if isinstance(made, ast.Lambda) and len(unparse(made)) + 5 > room else None
        text = _call("lambda argument: ", body, room - 4) if isinstance(body, ast.Call) else unparse(made)
        inner = [*(f"    {line}" for line in f"{text},".split("\n")), f"    {unparse(at)},"]
    return "\n".join([f"{head}{unparse(call.func)}(", *inner, f"){tail}"])


def _at_last_bracket(text: str, room: int) -> str:
    """A text that ends with a bracket, and attributes maybe, split there; nothing where that does not fit."""
    found = _ATTRIBUTES.search(text)
    text, tail = (text[: found.start(1)], found[1]) if found else (text, "")
    depth, at = 0, len(text) - 1
    while text.endswith(")") and at > 0:
        depth += {")": 1, "(": -1}.get(text[at], 0)
        if depth == 0:
            break
        at -= 1
    inner = text[at + 1 : -1]
    return f"{text[: at + 1]}\n    {inner}\n){tail}" if 0 < at < room and len(inner) + 4 <= room else ""


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


def _deeper(part: str, room: int) -> list[str]:
    """An operand in lines of its own, where it is too long for one."""
    sign, operand = (part[:2], part[2:]) if part[0] in _SIGNS.values() and part[1] == " " else ("", part)
    value = getattr(ast.parse(operand).body[0], "value", None)
    if len(part) <= room or not isinstance(value, ast.BinOp):
        return [part]
    first, *rest = _terms(value)
    return [sign + first, *rest]


def _lower(node: ast.expr, level: tuple[type, ...]) -> bool:
    weaker = [kind for kinds in _LEVELS[: _LEVELS.index(level) + 1] for kind in kinds] if level else []
    return isinstance(node, ast.Compare) or (isinstance(node, ast.BinOp) and isinstance(node.op, tuple(weaker)))


def _call(head: str, value: ast.Call, room: int) -> str:
    arguments = [unparse(a) for a in value.args] + [f"{k.arg}={unparse(k.value)}" for k in value.keywords]
    joined = ", ".join(arguments)
    inner = [f"    {joined}"] if len(joined) + 4 <= room else [f"    {a}," for a in arguments]
    return "\n".join([f"{head}{unparse(value.func)}(", *inner, ")"])
