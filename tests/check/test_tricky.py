"""Right Functions of many kinds get nothing above a note; faulty ones are found and named."""

from __future__ import annotations

import faulty
import named
import pytest
import torch
import tricky

from pullback.check import check


@pytest.mark.parametrize("name", tricky.RIGHT)
def test_nothing_is_said_about_right_ones(name) -> None:
    cls, inputs = tricky.RIGHT[name]
    report = check(cls, *inputs())
    assert report.ok, str(report)
    assert [f.name for f in report if f.severity != "note"] == [], str(report)


GENERAL = [name for name, row in faulty.WRONG.items() if row[0].__module__ != named.__name__]


@pytest.mark.parametrize("name", GENERAL)
def test_faulty_ones_are_found(name) -> None:
    cls, inputs, names = faulty.WRONG[name]
    report = check(cls, *inputs())
    found = {f.name for f in report if f.severity != "note"}
    assert found & set(names), str(report)


@pytest.mark.parametrize("name", sorted(faulty.WRONG.keys() - set(GENERAL)))
def test_where_one_name_is_true_no_other_is_given(name) -> None:
    cls, inputs, names = faulty.WRONG[name]
    errors = {f.name for f in check(cls, *inputs()) if f.severity == "error"}
    assert errors == set(names)


def test_a_tie_is_not_blamed_for_what_only_one_point_has() -> None:
    def share(x: torch.Tensor) -> torch.Tensor:
        total = x.sum(-1, keepdim=True)
        return total * (x / (total + 1e-12))  # x, but at zero its derivative is zero: no step of a difference is small

    assert not [f for f in check(share, torch.zeros(3, 4, dtype=torch.float64)) if f.severity == "error"]
