"""The comparison of values beside torch's gradcheck: the budgets, and that no planted mistake is missed."""

from __future__ import annotations

import check_values
import pytest


def test_budgets(benchmark: object, capsys: pytest.CaptureFixture[str]) -> None:
    found = benchmark.pedantic(check_values.results, rounds=1, iterations=1)  # type: ignore[attr-defined]
    with capsys.disabled():
        print("\n" + check_values.speed(found))
    assert [r.row.name for r in found if r.ratio < r.row.budget] == []


def test_every_planted_mistake_is_found(benchmark: object) -> None:
    found = benchmark.pedantic(lambda: list(check_values.detected()), rounds=1, iterations=1)  # type: ignore[attr-defined]
    assert [ours for _, ours, _ in found] == [check_values.PLANTED] * len(check_values.MAGNITUDES)
