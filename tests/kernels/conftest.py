"""Kernels are on here, and kept for one run of the tests only."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the table of formulas, which stands beside the tests


@pytest.fixture(scope="session")
def kernel_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kernels") / "cache"


@pytest.fixture(autouse=True)
def _fused(monkeypatch: pytest.MonkeyPatch, kernel_cache: Path) -> None:
    monkeypatch.setenv("PULLBACK_FUSE", "require")
    monkeypatch.setenv("PULLBACK_CACHE_DIR", str(kernel_cache))
