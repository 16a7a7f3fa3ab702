"""Every Python block of the documents and every example in a docstring runs and shows what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import pullback
import pullback_lint

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(text: str) -> Iterator[tuple[int, str]]:
    """Each Python block with the number of its first line."""
    for match in BLOCK.finditer(text):
        yield text.count("\n", 0, match.start(1)) + 1, match[1]


def run_document(path: Path, module: ModuleType) -> None:
    """Runs the blocks of one document in one namespace; a block with prompts must print what it shows."""
    for line, source in blocks(path.read_text()):
        if ">>>" in source:
            example = doctest.DocTestParser().get_doctest(source, vars(module), path.name, str(path), line - 1)
            doctest.DebugRunner(optionflags=OPTIONS).run(example, clear_globs=False)
        else:
            # empty lines in front give tracebacks and inspect.getsource the line numbers of the file
            exec(compile("\n" * (line - 1) + source, str(path), "exec"), vars(module))


def modules(package: ModuleType) -> list[str]:
    """All modules of a package, itself included; not those that start a program when imported."""
    found = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    return [package.__name__, *(info.name for info in found if not info.name.endswith("__main__"))]


@pytest.fixture
def namespace(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    module = ModuleType("document")
    monkeypatch.setitem(sys.modules, "document", module)
    monkeypatch.chdir(tmp_path)
    return module


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_the_blocks_of_a_document_run(path: Path, namespace: ModuleType) -> None:
    run_document(path, namespace)


@pytest.mark.parametrize("name", [*modules(pullback), *modules(pullback_lint)])
def test_the_examples_in_docstrings_hold(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name), optionflags=OPTIONS).failed == 0


def test_the_readme_has_an_example() -> None:
    assert list(blocks((ROOT / "README.md").read_text())) != []


def test_blocks_share_a_namespace(tmp_path: Path, namespace: ModuleType) -> None:
    document = tmp_path / "good.md"
    document.write_text("```python\nx = 2\n```\n\n```python\n>>> x + 1\n3\n```\n\n```\nnot Python\n```\n")
    run_document(document, namespace)


@pytest.mark.parametrize("block", ["1 / 0", ">>> 1 + 1\n3"])
def test_a_planted_wrong_block_is_found(tmp_path: Path, namespace: ModuleType, block: str) -> None:
    document = tmp_path / "bad.md"
    document.write_text(f"# Title\n\n```python\n{block}\n```\n")
    with pytest.raises((ZeroDivisionError, doctest.DocTestFailure)):
        run_document(document, namespace)
