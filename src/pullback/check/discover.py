"""The targets in a file, a package or a notebook, and how to load them without starting anybody's program."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

WORDS = re.compile(r"autograd|custom_op|def backward|pullback|register_autograd|\bFunction\b")
SKIPPED = {".git", ".hg", "__pycache__", "node_modules", ".venv", "venv", "build", "dist", ".tox", ".mypy_cache"}


@dataclass(frozen=True)
class Found:
    """A class or function in a source that may be a target."""

    name: str
    line: int
    end: int
    nested: bool = False
    path: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source:
    """One file's code, the candidates in it, and what its comments say about them."""

    path: Path
    text: str
    candidates: tuple[Found, ...] = ()
    comments: dict[int, str] = field(default_factory=dict)
    error: str = ""


def files(path: Path) -> Iterator[Path]:
    """The Python files and notebooks below a path."""
    if path.is_file():
        yield path
        return
    for child in sorted(path.iterdir()):
        if child.is_dir() and child.name not in SKIPPED and not child.name.endswith(".egg-info"):
            yield from files(child)
        elif child.suffix in (".py", ".ipynb"):
            yield child


def source(path: Path) -> Source:
    """A file's code and candidates; a notebook's cells are joined, its magics left out."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".ipynb":
        text = cells(text)
    if not WORDS.search(text):
        return Source(path, text)
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        return Source(path, text, error=f"does not parse: {error}")
    comments = {
        number: match.group(1).strip()
        for number, line in enumerate(text.splitlines(), 1)
        if (match := re.search(r"#\s*pullback:\s*(.+)$", line))
    }
    return Source(path, text, tuple(candidates(module)), comments)


def cells(text: str) -> str:
    """The code of a notebook; magics and shell lines become empty lines."""
    try:
        notebook = json.loads(text)
    except json.JSONDecodeError:
        return ""
    parts = ["".join(cell["source"]) for cell in notebook.get("cells", []) if cell.get("cell_type") == "code"]
    lines = "\n\n".join(parts).split("\n")
    return "\n".join("" if re.match(r"\s*[%!]", line) else line for line in lines)


def candidates(module: ast.Module) -> Iterator[Found]:
    """Classes with a forward or a backward, operators and Functions."""
    classes = [node for node in ast.walk(module) if isinstance(node, ast.ClassDef)]
    top = {id(node) for node in module.body} | {
        id(child) for node in module.body if isinstance(node, (ast.If, ast.Try)) for child in ast.walk(node)
    }
    functional = _function_classes(classes)
    for node in classes:
        if node.name in functional or _methods(node) >= {"forward", "backward"}:
            inside = id(node) not in top
            yield Found(node.name, node.lineno, node.end_lineno or node.lineno, inside, _around(module, node))
    for function in module.body:
        if isinstance(function, ast.FunctionDef) and any(map(_makes_target, function.decorator_list)):
            yield Found(function.name, function.lineno, function.end_lineno or function.lineno)


def _around(module: ast.Module, node: ast.ClassDef) -> tuple[str, ...]:
    """The names of the classes and functions that a class is defined in."""
    kinds = (ast.ClassDef, ast.FunctionDef)
    outer = [n for n in ast.walk(module) if isinstance(n, kinds) and n is not node
             and n.lineno <= node.lineno and (n.end_lineno or 0) >= (node.end_lineno or 0)]  # fmt: skip
    return tuple(n.name for n in sorted(outer, key=lambda n: n.lineno))


def _function_classes(classes: list[ast.ClassDef]) -> set[str]:
    """Names of classes whose bases lead to something called Function."""
    known: set[str] = set()
    for _ in classes:
        for node in classes:
            bases = {_last_name(base) for base in node.bases}
            if bases & known or any(base.endswith("Function") for base in bases if base):
                known.add(node.name)
    return {node.name for node in classes if node.name in known and (_methods(node) or _inherits(node, known))}


def _inherits(node: ast.ClassDef, known: set[str]) -> bool:
    return bool({_last_name(base) for base in node.bases} & known)


def _methods(node: ast.ClassDef) -> set[str]:
    return {item.name for item in node.body if isinstance(item, ast.FunctionDef)} & {"forward", "backward", "vjp"}


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _makes_target(decorator: ast.expr) -> bool:
    call = decorator.func if isinstance(decorator, ast.Call) else decorator
    text = ast.unparse(call)
    return text.endswith("custom_op") or text in ("pb.function", "pullback.function")


def has_work(module: ast.Module) -> bool:
    """Whether importing a module would do more than define things."""
    return any(_is_work(node) for node in module.body)


def _is_work(node: ast.stmt) -> bool:
    if isinstance(node, (ast.For, ast.While, ast.With, ast.Assert, ast.Delete, ast.Raise)):
        return True
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant) and not _registers(node.value)
    if isinstance(node, ast.If):
        return not _is_guard(node) and any(_is_work(child) for child in [*node.body, *node.orelse])
    if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
        return any(_last_name(call.func) in ("parse_args", "parse_known_args", "input", "open")
                   for call in ast.walk(node.value) if isinstance(call, ast.Call))  # fmt: skip
    return False


RULES = ("grad", "grad_like", "jvp", "fake", "nondiff", "derive")  # what declares something about a Function


def _registers(value: ast.expr) -> bool:
    """Whether a statement only enters something somewhere."""
    name = _last_name(value.func) if isinstance(value, ast.Call) else ""
    return bool(_declares(value)) or name.startswith(("register", "filterwarnings", "append"))


def _declares(value: ast.expr) -> str:
    """The name about which a statement such as ``f.nondiff("x")`` or ``f.grad("x")(lambda g: g)`` says something."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Call):
        value = value.func
    about = value.func if isinstance(value, ast.Call) else value
    known = isinstance(about, ast.Attribute) and about.attr in RULES and isinstance(about.value, ast.Name)
    return about.value.id if known else ""  # type: ignore[attr-defined]


def _is_guard(node: ast.If) -> bool:
    return "__name__" in ast.unparse(node.test)


def sliced(text: str, wanted: set[str]) -> str:
    """The code with only imports, definitions, and the assignments that the wanted names need."""
    module = ast.parse(text)
    needed = leads_to(module, wanted)
    body = [part for node in module.body for part in _kept(node, needed)]
    lines = text.split("\n")
    return _blanked(lines, body)


def _kept(node: ast.stmt, needed: set[str]) -> list[ast.stmt]:
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
        return [node]
    if isinstance(node, ast.Try):
        return [node] if any(isinstance(child, (ast.Import, ast.ImportFrom)) for child in node.body) else []
    if isinstance(node, ast.If) and not _is_guard(node):
        simple = all(isinstance(c, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign))
                     for c in [*node.body, *node.orelse])  # fmt: skip
        return [node] if simple else []
    if isinstance(node, ast.Expr) and _registers(node.value):
        return [node] if _declares(node.value) in ("", *needed) else []
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        return [node] if bound(node) & needed else []
    return []


def bound(node: ast.stmt) -> set[str]:
    """The names that a statement assigns to."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def names(node: ast.stmt) -> set[str]:
    """The names that a statement of a module defines: by import, definition or assignment."""
    found = {n.name for n in [node] if isinstance(n, (ast.FunctionDef, ast.ClassDef))} | bound(node)
    aliases = [a for n in ast.walk(node) if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names]
    return found | {(alias.asname or alias.name).partition(".")[0] for alias in aliases}


def leads_to(module: ast.Module, wanted: set[str]) -> set[str]:
    """All names that the wanted ones lead to."""
    defines: dict[str, list[ast.stmt]] = {}
    for node in module.body:
        names = {node.name} if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else bound(node)
        for name in names:
            defines.setdefault(name, []).append(node)
    needed, todo = set(), list(wanted)
    while todo:
        name = todo.pop()
        if name in needed:
            continue
        needed.add(name)
        for node in defines.get(name, ()):
            todo += [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    return needed


def _blanked(lines: list[str], body: list[ast.stmt]) -> str:
    """The lines of some statements at their places, all others empty: line numbers stay true."""
    keep: set[int] = set()
    for node in body:
        first = min([node.lineno, *[d.lineno for d in getattr(node, "decorator_list", [])]])
        keep |= set(range(first, (node.end_lineno or node.lineno) + 1))
    return "\n".join(line if number in keep else "" for number, line in enumerate(lines, 1))
