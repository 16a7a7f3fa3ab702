"""Two processes: DDP, FSDP2, DTensor, and a Function that was pickled to a spawned process."""

from __future__ import annotations

from typing import Any

import processes
import pytest
import torch
from compare import assert_gradients


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """What every process found in every case; they are started once for all cases."""
    folder = tmp_path_factory.mktemp("processes")
    torch.multiprocessing.spawn(processes.work, (str(folder), processes.tell), processes.WORLD)
    return [torch.load(folder / f"{rank}.pt") for rank in range(processes.WORLD)]


@pytest.mark.parametrize("name", processes.CASES)
def test_the_rules_are_used(results: list[Any], name: str) -> None:
    for found in results:
        assert not isinstance(found[name], str), found[name]
        actual, expected = zip(*found[name], strict=True)
        assert_gradients(actual, expected)
