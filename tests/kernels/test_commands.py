"""``pullback cache``, ``pullback bench`` and ``pullback --version``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import torch

import pullback
from pullback.cli import main
from pullback.cli.bench import advice


def test_cache_shows_and_clears(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PULLBACK_CACHE_DIR", str(tmp_path / "none"))
    assert main(["cache"]) == 0
    assert main(["cache", "--clear"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{tmp_path / 'none'}: 0 kernels, 0 bytes", f"{tmp_path / 'none'}: 0 kernels removed"
    ]  # fmt: skip


def test_bench_measures_a_formula(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["x / (1 + torch.abs(x))", "--sizes", "64", "--seconds", "0", "--no-compile", "--format", "json"]
    assert main(["bench", *arguments]) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report["first_call"]) == {"eager", "softsign", "pullback"}
    (row,) = report["sizes"]
    assert row["kept"]["pullback"] == 64 * 4
    assert row["kept"]["eager"] > row["kept"]["pullback"]


@pytest.mark.parametrize(
    "arguments",
    [["x +"], ["x = 1"], ["relu(x)"], ["nowhere.py:f"], ["x", "--sizes", "abc"], ["x", "--sizes", "0"],
     ["x", "--dtype", "int8"], ["x", "--dtype", "foo"]],
)  # fmt: skip
def test_bench_says_what_it_cannot_measure(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *arguments]) == 2
    assert "do:" in capsys.readouterr().err


@pytest.mark.parametrize(("ours", "said"), [(1.0, "Plain PyTorch is the better choice"), (0.5, "takes 0.50")])
def test_the_advice_is_plain(ours: float, said: str) -> None:
    row = {"elements": 10, "seconds": {"eager": 1.0, "pullback": ours}}
    assert said in advice({"first_call": {"eager": 0.0, "pullback": 0.0}, "sizes": [row]})


@pytest.mark.parametrize("said", ["--version", "-V"])
def test_the_versions_that_a_report_needs(said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([said]) == 0
    ours, torchs, pythons = capsys.readouterr().out.strip().split(", ")
    assert (ours, pythons) == (f"pullback {pullback.__version__}", f"Python {sys.version.split()[0]}")
    assert torchs.partition("+")[0] == f"PyTorch {torch.__version__.partition('+')[0]}"  # a wheel may say which build
