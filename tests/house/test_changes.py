"""Changelog fragments: well named, and folded without loss."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

CHANGES = Path(__file__).parents[2] / "changes"
FOLD = runpy.run_path(str(CHANGES / "fold.py"))


def test_every_fragment_is_well_named() -> None:
    FOLD["fragments"](CHANGES)


@pytest.mark.parametrize("name", ["masks.md", "masks.improved.md", "masks.old.added.md"])
def test_a_planted_bad_name_is_found(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("Masks are packed.\n")
    with pytest.raises(SystemExit, match="masks"):
        FOLD["fragments"](tmp_path)


def test_fragments_become_the_newest_section(tmp_path: Path) -> None:
    changelog, folder = tmp_path / "CHANGELOG.md", tmp_path / "changes"
    changelog.write_text("# Changelog\n\nIntro.\n\n## 0.1.0 (2026-01-01)\n\n### Added\n\n- First.\n")
    folder.mkdir()
    (folder / "masks.added.md").write_text("Masks are\npacked.\n")
    (folder / "leak.fixed.md").write_text("No leak.\n")
    FOLD["fold"]("0.2.0", changelog, folder)
    text = changelog.read_text()
    assert text.startswith("# Changelog\n\nIntro.\n\n## 0.2.0 (")
    assert "### Added\n\n- Masks are\n  packed.\n\n### Fixed\n\n- No leak.\n\n## 0.1.0 (2026-01-01)" in text
    assert list(folder.iterdir()) == []
