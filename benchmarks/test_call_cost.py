"""One call at 16 elements: each way of writing it, and the budgets as ratios measured side by side."""

from __future__ import annotations

import call_cost
import pytest
import torch

ROWS = call_cost.rows()


@pytest.fixture(autouse=True)
def _one_thread() -> object:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_one_call(benchmark: object, row: call_cost.Row) -> None:
    benchmark.pedantic(row.run, rounds=200, iterations=20, warmup_rounds=10)  # type: ignore[attr-defined]


def test_budgets(benchmark: object, capsys: pytest.CaptureFixture[str]) -> None:
    found = benchmark.pedantic(call_cost.results, rounds=1, iterations=1)  # type: ignore[attr-defined]
    with capsys.disabled():
        print("\n" + call_cost.markdown(found))
    assert [r.row.name for r in found if not r.within] == []
