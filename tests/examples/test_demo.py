"""``pullback demo``: the table, the networks, the picture, and what is said when something is missing or wrong.

That the full training reaches its accuracy is checked by the demo itself (``make demo``); here a few epochs do.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from pullback.cli import main
from pullback.cli._demo import cases, training
from pullback.cli._demo import functions as f

PNG = b"\x89PNG\r\n\x1a\n"


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    """Exit status, output with single spaces, and errors."""
    status = main(["demo", *args])
    printed = capsys.readouterr()
    return status, "\n".join(" ".join(line.split()) for line in printed.out.splitlines()), printed.err


def test_a_quick_demo_prints_its_tables_and_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = run(capsys, "--quick")
    assert (status, err) == (0, "")
    path = f.cube.describe(torch.ones(3, requires_grad=True)).path
    bits = "0.2" if path == "kernel" else "2"  # a kernel packs what it keeps
    for row in (
        f"custom_gradient [1, 2, 3] [2, 4, 6] [3, 3, 3] 0 0 B – {path}",
        f"doubling [1, 2, 3] [2, 4, 6] [2, 2, 2] 0 0 B 0 B {path}",
        f"square [1, 2, 3] [1, 4, 9] [2, 4, 6] 0 4 B 4 B {path}",
        f"cube [1, 2, 3] [1, 8, 27] [3, 12, 27] 0 4 B 4 B {path}",
        f"sum_of_squares [1, 2, 3] 14 [2, 4, 6] 0 4 B 4 B {path}",
        f"learnable_clamp [-2, 0, 2] [-2, 0, 2] [0, 2, 0] 0 {bits} B 4 B {path}\nlow -1 high 1 low 2 high 2",
        "root_plus_reciprocal [4, 9, 16] [2.25, 3.11, 4.06] [0.188, 0.154, 0.121]",
    ):
        assert row in out
    for text in ("clamp and quantizer", "ReLU", "low -0.500", "high 0.500", "step 1.000", "test accuracy"):
        assert text in out
    assert f"wrote {tmp_path / 'demo.png'}" in out
    assert (tmp_path / "demo.png").read_bytes().startswith(PNG)
    assert (tmp_path / "demo.png").stat().st_size > 20_000


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.function.__name__)
def test_each_function_agrees_with_its_reference(case: cases.Case) -> None:
    assert cases.compare(case).right


def test_a_planted_wrong_reference_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = cases.Case(f.cube, cases.ONE_TO_THREE, lambda x: x**3, meant=lambda x: 1.001 * x**3)
    monkeypatch.setattr(cases, "CASES", (wrong,))
    status, _, err = run(capsys, "--epochs", "1", "--output", str(tmp_path / "a.png"))
    assert (status, err) == (1, "pullback demo: cube differs from its reference\n")


def test_a_full_training_that_misses_its_accuracy_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pullback.cli.demo.EPOCHS", 1)
    monkeypatch.setattr(training, "accuracy", lambda net, digits: 0.94)
    status, _, err = run(capsys, "--output", str(tmp_path / "a.png"))
    assert (status, err) == (1, "pullback demo: the test accuracy is below 0.95\n")


def test_training_lowers_the_loss_and_moves_every_parameter() -> None:
    digits = training.load_digits()
    history = training.train(training.ours(0), digits, 3, 0, lambda state: None)
    assert history.losses[-1] < history.losses[0] / 2
    assert history.accuracies[-1] > 0.8
    assert all(path[-1] != path[0] for path in history.paths.values())
    assert list(history.paths) == ["low", "high", "step"]


def test_both_networks_start_from_the_same_weights() -> None:
    ours, relu = training.ours(0), training.relu(0)
    assert all((a.weight == b.weight).all() for a, b in zip(ours[::2], relu[::2]))


def test_what_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    status, out, err = run(capsys, "--output", str(tmp_path / "a.png"))
    assert (status, out, err) == (1, "", "pullback demo needs sklearn: pip install 'pullback[demo]'\n")


@pytest.mark.parametrize("epochs", ["0", "-1", "many"])
def test_a_number_of_epochs_that_makes_no_sense_is_refused(epochs: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["demo", "--epochs", epochs])
    assert "--epochs" in capsys.readouterr().err
