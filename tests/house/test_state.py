"""The fixture of conftest.py that watches PyTorch's global state."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

CONFTEST = Path(__file__).parents[1] / "conftest.py"


@pytest.mark.parametrize(
    "statement",
    [
        "torch.set_default_dtype(torch.float64)",
        "torch.set_grad_enabled(False)",
        "torch.autograd.set_detect_anomaly(True)",
        "torch.use_deterministic_algorithms(True)",
    ],
)
def test_a_test_that_leaves_state_changed_fails(pytester: pytest.Pytester, statement: str) -> None:
    pytester.makeconftest(CONFTEST.read_text())
    pytester.makepyfile(f"import torch\ndef test_careless(): {statement}\ndef test_next(): pass")
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*left global state of PyTorch changed*became*"])
