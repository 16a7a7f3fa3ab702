"""The cache on disk trusts nothing that it has not checked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pullback.kernels import cache
from pullback.kernels.compile import CompileError, Compiler, compiler

TEXT = '__attribute__((visibility("default"))) int answer(void) { return 42; }\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PULLBACK_CACHE_DIR", str(tmp_path / "home" / "pullback"))
    return tmp_path / "home" / "pullback"


@pytest.fixture
def cc() -> Compiler:
    found = compiler()
    assert found is not None
    return found


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What has been compiled."""
    texts: list[str] = []
    real = Compiler.compile

    def counted(self: Compiler, text: str, path: Path) -> None:
        texts.append(text)
        real(self, text, path)

    monkeypatch.setattr(Compiler, "compile", counted)
    return texts


def test_kept_privately_and_found_again(folder: Path, cc: Compiler, compiled: list[str]) -> None:
    for _ in range(2):
        assert cache.library(TEXT, cc).answer() == 42
    assert len(compiled) == 1
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [name for name, _, _ in cache.entries()] == [path.name for path in folder.iterdir()]
    assert cache.clear() == 1
    assert cache.entries() == []


def test_another_text_or_compiler_is_another_kernel(folder: Path, cc: Compiler, compiled: list[str]) -> None:
    other = TEXT.replace("42", "43")
    assert [cache.library(t, cc).answer() for t in (TEXT, other)] == [42, 43]
    cache.library(TEXT, Compiler(cc.command, cc.flags, cc.version + "1"))
    assert len(compiled) == 3


@pytest.mark.parametrize("harm", ["content", "link", "writable"])
def test_a_file_that_was_tampered_with_is_not_loaded(
    harm: str, folder: Path, cc: Compiler, compiled: list[str], tmp_path: Path
) -> None:
    cache.library(TEXT, cc)
    (path,) = folder.iterdir()
    good = path.read_bytes()
    if harm == "content":
        path.write_bytes(good[:-1] + b"x")
    elif harm == "writable":
        path.chmod(0o722)
    else:
        (tmp_path / "elsewhere.so").write_bytes(good)
        path.unlink()
        path.symlink_to(tmp_path / "elsewhere.so")
    assert cache.library(TEXT, cc).answer() == 42
    assert len(compiled) == 2


@pytest.mark.parametrize("harm", ["open", "link", "file", "read-only"])
def test_without_a_directory_of_ones_own_kernels_are_not_kept(
    harm: str, folder: Path, cc: Compiler, tmp_path: Path
) -> None:
    folder.parent.mkdir()
    if harm == "open":
        folder.mkdir()
        folder.chmod(0o755)
    elif harm == "link":
        (tmp_path / "other").mkdir(mode=0o700)
        folder.symlink_to(tmp_path / "other")
    elif harm == "file":
        folder.write_text("")
    else:
        folder.mkdir(mode=0o700)
        folder.chmod(0o500)
    assert cache.library(TEXT, cc).answer() == 42
    kept = list(folder.iterdir()) if folder.is_dir() else []
    assert kept == [] or (harm == "read-only" and os.getuid() == 0)  # nothing is read-only for root


def test_the_oldest_go_first(folder: Path, cc: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LIMIT", 1)
    for value in (1, 2):
        cache.library(TEXT.replace("42", str(value)), cc)
    assert len(cache.entries()) == 1


def test_a_compiler_error_is_told(folder: Path, cc: Compiler) -> None:
    with pytest.raises(CompileError, match="ended with"):
        cache.library("this is no C", cc)


def test_the_compiler_named_by_the_user_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mine = tmp_path / "mycc"
    mine.write_text('#!/bin/sh\nexec cc "$@"\n')
    mine.chmod(0o755)
    monkeypatch.setenv("CC", f"{mine} -DMINE")
    found = compiler.__wrapped__()
    assert found is not None
    assert found.command == (str(mine), "-DMINE")
    monkeypatch.setenv("CC", str(tmp_path / "none"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert compiler.__wrapped__() is None
