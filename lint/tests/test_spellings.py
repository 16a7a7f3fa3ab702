"""Faults in other spellings than those of the rules' own fixtures."""

import re
from pathlib import Path

import pytest

from pullback_lint.engine import lint

BLOCKS = re.split(r"^# === ", (Path(__file__).parent / "fixtures/spellings.txt").read_text("utf-8"), flags=re.MULTILINE)


@pytest.mark.parametrize("block", BLOCKS[1:], ids=lambda block: block.partition("\n")[0])
def test_a_spelling_is_found(block):
    name, _, source = block.partition("\n")
    assert name in {finding.name for finding in lint(source).findings}, source
