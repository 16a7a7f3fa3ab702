"""The docs page about stacks says what the table says."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"


def builder() -> Any:
    spec = importlib.util.spec_from_file_location("docs_build", DOCS / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_pages_are_in_step() -> None:
    pages = builder().PAGES
    assert {name: (DOCS / name).read_text() == page() for name, page in pages.items()} == dict.fromkeys(pages, True)
