"""The fixture of conftest.py that watches PyTorch's global state."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

CONFTEST = Path(__file__).parents[1] / "conftest.py"
CARELESS = """
import torch

def test_dtype(): torch.set_default_dtype(torch.float64)
def test_grad_mode(): torch.set_grad_enabled(False)
def test_anomaly(): torch.autograd.set_detect_anomaly(True)
def test_deterministic(): torch.use_deterministic_algorithms(True)
def test_careful(): torch.ones(3).sum()
"""


def test_each_test_that_leaves_state_changed_fails(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST.read_text())
    pytester.makepyfile(CARELESS)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore")
    result.assert_outcomes(passed=5, errors=4)
    for what in ("default dtype", "grad mode", "anomaly mode", "deterministic algorithms"):
        result.stdout.fnmatch_lines([f"*left global state of PyTorch changed: {what}: * became *"])
