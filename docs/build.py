"""Writes the generated pages, run by ``make docs``: each file in docs/pages says what the page of its name says."""

from __future__ import annotations

import runpy
from pathlib import Path

HERE = Path(__file__).parent
PAGES = {f"{path.stem}.md": path for path in sorted((HERE / "pages").glob("*.py"))}


def text(name: str) -> str:
    """What a generated page shall say."""
    written: str = runpy.run_path(str(PAGES[name]))["page"]()
    return written


if __name__ == "__main__":
    for name in PAGES:
        (HERE / name).write_text(text(name))
