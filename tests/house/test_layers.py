"""Imports go down only, the linter needs nothing but Python, and private torch names live in one file."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# lowest first; what stands in one layer does not import its neighbours. "" is the package itself: the public names
LAYERS = (
    {"errors"},
    {"_describe", "_tolerances"},
    {"_torch"},
    {"define"},
    {"graph"},
    {"kernels"},
    {"check"},
    {"functional"},
    {"nn"},
    {"bridge"},
    {""},
    {"pullback_pytest"},
    {"cli"},
    {"__main__"},
)
RANK = {part: rank for rank, layer in enumerate(LAYERS) for part in layer}


def module_name(path: Path, root: Path) -> str:
    parts = list(path.relative_to(root).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path, root: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of everything a file imports, wherever in the file it does so."""
    package = module_name(path.parent / "__init__.py", root).split(".")
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            yield from ((node.lineno, a.value) for a in node.args[:1] if isinstance(a, ast.Constant))


def part(name: str) -> str:
    """The part of the package that a full name belongs to: ``pullback.define.rule`` is in ``define``."""
    top, _, rest = name.partition(".")
    inner = rest.partition(".")[0]
    if top != "pullback":
        return top
    return inner if inner in RANK else ""


def upward(path: Path, root: Path) -> list[str]:
    here = module_name(path, root)
    if part(here) == "" and here != "pullback":
        return [f"{here} stands in no layer: add it to LAYERS"]
    ours = [(line, name) for line, name in imports(path, root) if name.split(".")[0] in ("pullback", "pullback_pytest")]
    return [
        f"{here}:{line} imports {name}"
        for line, name in ours
        if part(name) != part(here) and RANK[part(name)] >= RANK[part(here)]
    ]


def foreign(path: Path, root: Path) -> list[str]:
    """Imports of anything but the standard library and the linter itself."""
    allowed = sys.stdlib_module_names | {"pullback_lint"}
    return [
        f"{path.name}:{line} imports {name}" for line, name in imports(path, root) if name.split(".")[0] not in allowed
    ]


def private_torch(path: Path) -> list[str]:
    """Private torch names: imported, or reached through any name that torch or a part of it is bound to."""
    tree = ast.parse(path.read_text())
    bound = dict(torch_bindings(tree))
    used = [(node.lineno, full_name(node, bound)) for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    used += [(line, name) for line, name in imports(path, path.parent) if name.split(".")[0] == "torch"]
    return [f"{path.name}:{line} uses {name}" for line, name in used if any(map(is_private, name.split(".")))]


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def torch_bindings(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name.split(".")[0], alias.name if alias.asname else alias.name.split(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)


def full_name(node: ast.expr, bound: dict[str, str]) -> str:
    """The dotted torch name that an attribute chain stands for, or nothing."""
    if isinstance(node, ast.Attribute):
        base = full_name(node.value, bound)
        return base and f"{base}.{node.attr}"
    name = bound.get(node.id, "") if isinstance(node, ast.Name) else ""
    return name if name.split(".")[0] == "torch" else ""


SOURCES = sorted((ROOT / "src").rglob("*.py"))
LINT_SOURCES = sorted((ROOT / "lint/src").rglob("*.py"))


def test_imports_go_down_only() -> None:
    assert [problem for path in SOURCES for problem in upward(path, ROOT / "src")] == []


def test_the_linter_imports_the_standard_library_only() -> None:
    assert [problem for path in LINT_SOURCES for problem in foreign(path, ROOT / "lint/src")] == []


def test_private_torch_names_live_in_one_file() -> None:
    elsewhere = [path for path in SOURCES if path != ROOT / "src/pullback/_torch.py"]
    assert [problem for path in elsewhere for problem in private_torch(path)] == []


def planted(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pullback/define/a.py", "import pullback.graph.trace"),
        ("pullback/define/a.py", "from pullback.graph import trace"),
        ("pullback/define/a.py", "from pullback import check"),
        ("pullback/define/a.py", "from pullback import keep"),
        ("pullback/define/a.py", "from ..check import worker"),
        ("pullback/define/a.py", "def late():\n    from pullback.graph.trace import trace"),
        ("pullback/define/a.py", "import importlib\nimportlib.import_module('pullback.kernels')"),
        ("pullback/_describe.py", "from pullback._tolerances import VALUES"),
        ("pullback/__init__.py", "from pullback.cli import main"),
        ("pullback_pytest.py", "import pullback.cli"),
        ("pullback/novelty.py", ""),
    ],
)
def test_a_planted_upward_import_is_found(tmp_path: Path, name: str, text: str) -> None:
    assert upward(planted(tmp_path, name, text), tmp_path) != []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pullback/define/a.py", "from pullback.errors import UsageError\nfrom . import b\nfrom .b import c"),
        ("pullback/__main__.py", "from pullback.cli import main"),
        ("pullback/cli/check.py", "import pullback\nfrom pullback.check import report\nimport pullback_lint"),
    ],
)
def test_a_downward_import_is_allowed(tmp_path: Path, name: str, text: str) -> None:
    assert upward(planted(tmp_path, name, text), tmp_path) == []


@pytest.mark.parametrize(
    "text", ["import torch", "from pullback.errors import UsageError", "import numpy.linalg as la"]
)
def test_a_planted_foreign_import_is_found(tmp_path: Path, text: str) -> None:
    assert foreign(planted(tmp_path, "pullback_lint/a.py", text), tmp_path) != []


@pytest.mark.parametrize(
    "text",
    [
        "import torch\ntorch._C._get_tracing_state()",
        "import torch as th\nth.autograd._functions",
        "from torch import autograd\nautograd._something",
        "from torch._dynamo import allow_in_graph",
        "import torch.utils._pytree as pytree",
        "import torch.nn.functional as F\nF._verify",
    ],
)
def test_a_planted_private_torch_name_is_found(tmp_path: Path, text: str) -> None:
    assert private_torch(planted(tmp_path, "a.py", text)) != []


def test_public_torch_names_are_allowed(tmp_path: Path) -> None:
    assert private_torch(planted(tmp_path, "a.py", "import torch\ntorch.nn.Module.__call__\nself._torch")) == []
