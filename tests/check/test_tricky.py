"""Right Functions of many kinds get nothing above a note; faulty ones are found and named."""

from __future__ import annotations

import faulty
import pytest
import tricky

from pullback.check import check


@pytest.mark.parametrize("name", tricky.RIGHT)
def test_nothing_is_said_about_right_ones(name) -> None:
    cls, inputs = tricky.RIGHT[name]
    report = check(cls, *inputs())
    assert report.ok, str(report)
    assert [f.name for f in report if f.severity != "note"] == [], str(report)


@pytest.mark.parametrize("name", faulty.WRONG)
def test_faulty_ones_are_found(name) -> None:
    cls, inputs, names = faulty.WRONG[name]
    report = check(cls, *inputs())
    found = {f.name for f in report if f.severity != "note"}
    assert found & set(names), str(report)
