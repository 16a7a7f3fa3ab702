"""Find and read what is to be linted: files, directories, notebooks, standard input."""

from __future__ import annotations

import codecs
import fnmatch
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from pullback_lint.gitignore import Ignores, above

SUFFIXES = frozenset({".py", ".pyi", ".ipynb"})
SKIPPED = frozenset({".git", ".hg", ".svn", ".tox", ".nox", ".venv", ".mypy_cache", ".ruff_cache", ".pytest_cache",
                     "__pycache__", "node_modules", ".ipynb_checkpoints", ".eggs"})  # fmt: skip
"""Directories that hold nobody's own code."""


class NoSuchPathError(Exception):
    """A path was named that does not exist."""


def find(paths: Iterable[str], exclude: Iterable[str] = ()) -> Iterator[Path]:
    """All files to lint, each once, in sorted order below each path.

    Args:
        paths: Files and directories; files named here are taken whatever their suffix.
        exclude: Globs of paths to leave out.

    Raises:
        NoSuchPathError: A path does not exist.
    """
    exclude = tuple(exclude)
    seen: set[Path] = set()
    for name in paths:
        path = Path(name)
        if not path.exists():
            raise NoSuchPathError(f"no such file or directory: {name}")
        for file in [path] if path.is_file() else _below(path, exclude):
            if file not in seen:
                seen.add(file)
                yield file


def _below(directory: Path, exclude: tuple[str, ...]) -> Iterator[Path]:
    resolved = directory.resolve()
    parent = above(resolved)
    yield from _walk(directory, Ignores(resolved, parent), exclude)


def _walk(directory: Path, ignores: Ignores, exclude: tuple[str, ...]) -> Iterator[Path]:
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        path = directory / entry.name
        inside = ignores.root / entry.name
        is_directory = entry.is_dir(follow_symlinks=False)
        if _is_excluded(path, exclude) or ignores.ignores(inside, is_directory=is_directory):
            continue
        if is_directory:
            if entry.name not in SKIPPED:
                yield from _walk(path, Ignores(inside, ignores), exclude)
        elif path.suffix in SUFFIXES and entry.is_file():
            yield path


def _is_excluded(path: Path, exclude: tuple[str, ...]) -> bool:
    name = path.as_posix()
    return any(fnmatch.fnmatch(name, glob) or fnmatch.fnmatch(path.name, glob) for glob in exclude)


def shown(path: Path) -> str:
    """A path as findings show it: POSIX, relative to the working directory where it lies below."""
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()


def read(path: Path) -> str:
    """The text of a Python file, decoded as Python would.

    Raises:
        OSError: It cannot be read.
        SyntaxError: Its declared encoding does not exist.
        UnicodeDecodeError: It is not in its encoding.
    """
    data = path.read_bytes()
    return data.decode(_encoding(data))


def write(path: Path, text: str) -> None:
    """Give a Python file another text, in the encoding that it has."""
    path.write_bytes(text.encode(_encoding(path.read_bytes())))


def _encoding(data: bytes) -> str:
    """The encoding of a Python file, from its bytes."""
    if not data.startswith(codecs.BOM_UTF8) and b"coding" not in b"".join(data.split(b"\n", 2)[:2]):
        return "utf-8"
    import io
    import tokenize

    return tokenize.detect_encoding(io.BytesIO(data).readline)[0]


def standard_input() -> str:
    """All of standard input."""
    return sys.stdin.read()
