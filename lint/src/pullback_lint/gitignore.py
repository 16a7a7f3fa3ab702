"""Which paths git ignores, from the `.gitignore` files on the way."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import NamedTuple


class Pattern(NamedTuple):
    """One line of a `.gitignore`: what it matches, and whether it takes back what others ignore."""

    regex: re.Pattern[str]
    negated: bool
    directories_only: bool


class Ignores:
    """The patterns that hold below a directory.

    Args:
        root: The directory.
        parent: The patterns that hold above it.
    """

    def __init__(self, root: Path, parent: Ignores | None = None) -> None:
        self.root = root
        self.parent = parent
        self.patterns = _read(root / ".gitignore")

    def ignores(self, path: Path, *, is_directory: bool) -> bool:
        """Whether a path below the directory is ignored; the last pattern that matches decides."""
        return self._decides(path, is_directory=is_directory) or False

    def _decides(self, path: Path, *, is_directory: bool) -> bool | None:
        relative = path.relative_to(self.root).as_posix()
        for pattern in reversed(self.patterns):
            if (is_directory or not pattern.directories_only) and pattern.regex.match(relative):
                return not pattern.negated
        return self.parent._decides(path, is_directory=is_directory) if self.parent else None


def above(directory: Path) -> Ignores | None:
    """The patterns of the repository around a directory, down to the directory's parent."""
    line = [directory, *directory.parents]
    root = next((index for index, path in enumerate(line) if (path / ".git").exists()), None)
    ignores: Ignores | None = None
    for path in reversed(line[1 : root + 1] if root is not None else []):
        ignores = Ignores(path, ignores)
    return ignores


def _read(path: Path) -> tuple[Pattern, ...]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ()
    return tuple(pattern for line in text.splitlines() if (pattern := _pattern(line)) is not None)


def _pattern(line: str) -> Pattern | None:
    line = line.rstrip()
    if not line or line.startswith("#"):
        return None
    negated = line.startswith("!")
    body = line[negated:].removeprefix("\\")
    directories_only = body.endswith("/")
    body = body.rstrip("/")
    anchored = "/" in body
    prefix = "" if anchored else "(?:.*/)?"
    try:
        regex = re.compile(f"{prefix}{_translate(body.lstrip('/'))}$")
    except re.error:
        return None
    return Pattern(regex, negated, directories_only)


@functools.cache
def _translate(glob: str) -> str:
    """A glob with `**`, `*`, `?` and `[…]` as a regular expression."""
    parts = re.split(r"(\*\*/|/\*\*|\*\*|\*|\?|\[[^\]]+\])", glob)
    return "".join(_WILD.get(part) or _literal(part) for part in parts)


_WILD = {"**/": "(?:.*/)?", "/**": "/.*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _literal(part: str) -> str:
    if part.startswith("[") and part.endswith("]"):
        return part.replace("[!", "[^", 1)
    return re.escape(part)
