"""Every fault that the checker can name is in the catalogue."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pullback.check import battery
from pullback_lint import catalogue

SOURCES = sorted(Path(battery.__file__).parent.rglob("*.py"))
WORDS = re.compile(r'(?:Finding|Cause)\(\s*"([a-z0-9-]+)"|^\s+\(r".*", "([a-z0-9-]+-[a-z0-9-]+)"', re.MULTILINE)


def named(text: str) -> set[str]:
    return {a or b for a, b in WORDS.findall(text)}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_names_are_in_the_catalogue(path) -> None:
    assert named(path.read_text(encoding="utf-8")) <= set(catalogue.by_name())


def test_a_planted_unknown_name_is_seen() -> None:
    assert named('yield Finding(\n    "no-such-fault", "…")') == {"no-such-fault"}
