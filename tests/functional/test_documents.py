"""What the documents say of the catalogue is so: the generated page, and the entry that CONTRIBUTING shows."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest
from properties import PROPERTIES, kinks_are_as_documented

from pullback.functional.listing import FAMILIES
from pullback.functional.record import RECORDS, Record
from pullback.nn.module import module_class

ROOT = Path(__file__).parents[2]
CURVES = re.compile(r"`[▁▂▃▄▅▆▇█]+`")  # which round a little differently on other machines


@pytest.fixture
def shown() -> Iterator[Record]:
    """The entry of CONTRIBUTING, while it is in the catalogue."""
    before = dict(RECORDS)
    (source,) = re.findall(r"^```py\n(.*?)^```$", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE | re.DOTALL)
    exec(compile(source, "CONTRIBUTING.md", "exec"), {"__name__": "contributed"})
    (name,) = set(RECORDS) - set(before)
    yield RECORDS[name]
    del RECORDS[name]


def test_the_page_is_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULLBACK_FUSE", "0")  # it says what is kept without kernels
    text = runpy.run_path(str(ROOT / "docs/build.py"))["text"]("catalogue.md")
    assert CURVES.sub("", (ROOT / "docs/catalogue.md").read_text()) == CURVES.sub("", text)


def test_the_families_are_those_of_the_catalogue() -> None:
    headings = re.findall(r"^## (\w+): ", (ROOT / "docs/catalogue.md").read_text(), re.MULTILINE)
    assert headings == list(FAMILIES)
    assert set(headings) == {record.family for record in RECORDS.values()}


def test_every_certified_entry_is_on_the_page_of_accuracy() -> None:
    text = (ROOT / "docs/accuracy.md").read_text()
    assert [r.name for r in RECORDS.values() if r.certified and f"| {r.name} | pullback | bfloat16 |" not in text] == []


# dear, or of other entries
ELSEWHERE = {"compiled", "exported", "fused_is_eager", "the_checker_finds_no_fault", "large_calls_keep_the_minimum"}


def test_the_entry_of_contributing_passes_the_suite(shown: Record) -> None:
    alike = RECORDS["swish"]
    asked = [check for name, (check, rs) in PROPERTIES.items() if alike in rs and name not in ELSEWHERE]
    for check in (*asked, kinks_are_as_documented):
        check(shown)
    layer = module_class(shown)(3)
    assert repr(layer) == "Gate(num_parameters=3)"
    assert layer.beta.tolist() == pytest.approx([1.0] * 3)
