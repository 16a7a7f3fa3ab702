"""Kernels are on here, and kept for one run of the tests only."""

from __future__ import annotations

import fcntl
import shutil
import sys
from collections.abc import Iterator
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


@pytest.fixture(scope="session")
def built_node(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """The node in C++, built once for all runs of the tests, for that takes most of a minute."""
    from pullback.kernels import native

    if not any(map(shutil.which, ("c++", "g++", "clang++"))):
        pytest.skip("there is no compiler for C++")
    base = tmp_path_factory.getbasetemp()
    root = next((p for p in base.parents if p.name.startswith("pytest-of-")), base) / "pullback-node"
    root.mkdir(mode=0o700, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch, open(root / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one worker builds, the others load
        patch.setenv("PULLBACK_NODE", "1")
        patch.setenv("PULLBACK_CACHE_DIR", str(root / "cache"))
        assert native.wait()
    node = list(native.LOADED)
    native.LOADED.clear()
    return node


@pytest.fixture
def node(built_node: list[object], monkeypatch: pytest.MonkeyPatch, _fused: None) -> Iterator[None]:
    """The node stands before the Functions of one test."""
    from pullback.kernels import native

    monkeypatch.setenv("PULLBACK_NODE", "1")
    monkeypatch.setenv("PULLBACK_FUSE", "1")
    native.LOADED[:] = built_node
    yield
    native.LOADED.clear()
