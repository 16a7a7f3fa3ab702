"""The docs page about stacks says what the table says."""

from __future__ import annotations

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_in_step() -> None:
    text = runpy.run_path(str(DOCS / "build.py"))["text"]
    assert (DOCS / "stacks.md").read_text() == text("stacks.md")
