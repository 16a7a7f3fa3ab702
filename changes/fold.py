"""Folds the changelog fragments into CHANGELOG.md: ``python changes/fold.py 0.2.0``."""

from __future__ import annotations

import datetime
import sys
from itertools import chain
from pathlib import Path

HERE = Path(__file__).parent
KINDS = ("added", "changed", "fixed", "removed")


def fragments(folder: Path) -> dict[str, list[Path]]:
    """The fragments by kind; a file whose name has no known kind is an error."""
    files = sorted(path for path in folder.glob("*.md") if path.name != "README.md")
    strange = [path.name for path in files if path.name.split(".")[1:-1] not in [[kind] for kind in KINDS]]
    if strange:
        raise SystemExit(f"not <short-name>.<{'|'.join(KINDS)}>.md: {', '.join(strange)}")
    return {kind: found for kind in KINDS if (found := [path for path in files if path.name.endswith(f".{kind}.md")])}


def section(title: str, by_kind: dict[str, list[Path]]) -> str:
    """One release as it stands in the changelog."""
    parts = [f"## {title}"]
    for kind, paths in by_kind.items():
        entries = ["- " + path.read_text().strip().replace("\n", "\n  ") for path in paths]
        parts += [f"### {kind.capitalize()}", "\n".join(entries)]
    return "\n\n".join(parts)


def fold(version: str, changelog: Path, folder: Path) -> None:
    """Puts the new section on top of the older ones and deletes its fragments."""
    by_kind = fragments(folder)
    head, mark, older = changelog.read_text().partition("\n## ")
    new = section(f"{version} ({datetime.date.today().isoformat()})", by_kind)
    changelog.write_text(f"{head.rstrip()}\n\n{new}\n{mark}{older}")
    for path in chain.from_iterable(by_kind.values()):
        path.unlink()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python changes/fold.py VERSION")
    fold(sys.argv[1], HERE.parent / "CHANGELOG.md", HERE)
