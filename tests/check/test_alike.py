"""Two versions of a class are found equal when they are, and each way of differing is named."""

from __future__ import annotations

import types
from pathlib import Path

import pytest

from pullback.check import alike
from pullback.cli import main

OLD = """import torch


class Scaled(torch.autograd.Function):
    # scales the sine
    @staticmethod
    def forward(ctx, x, scale):
        y = torch.sin(x) * scale  # elementwise
        ctx.save_for_backward(x)
        ctx.scale = scale
        return y

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.cos(x) * ctx.scale, None


def make_inputs():
    return torch.linspace(0.1, 2, 5, requires_grad=True), 3.0
"""
NEW = """import torch


class Scaled(torch.autograd.Function):
    # scales the sine
    generate_vmap_rule = True

    @staticmethod
    def forward(x, scale):
        y = torch.sin(x) * scale  # elementwise
        return y

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, scale = inputs
        ctx.save_for_backward(x)
        ctx.scale = scale

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.cos(x) * ctx.scale, None
"""
MUTANTS = {
    "values: the outputs differ": ("torch.sin(x) * scale", "torch.sin(x) * scale * 1.01"),
    "values: the gradients differ": ("torch.cos(x) * ctx.scale", "torch.cos(x)"),
    "second order: one raises or has no graph": (
        "(x,) = ctx.saved_tensors",
        "x = ctx.saved_tensors[0].detach(); g = g.detach()",
    ),
    "second order: second derivatives differ": ("(x,) = ctx.saved_tensors", "x = ctx.saved_tensors[0].detach()"),
    "vmap: raises": ("y = torch.sin(x)", "y = (1 + 0 * x.sum().item()) * torch.sin(x)"),
}


def module(source: str, name: str) -> types.ModuleType:
    made = types.ModuleType(name)
    exec(compile(source, name, "exec"), vars(made))
    return made


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without torch.compile and the whole battery, which take seconds."""
    kept = {name: aspect for name, aspect in alike.ASPECTS.items() if name not in ("compile", "checker")}
    monkeypatch.setattr(alike, "ASPECTS", kept)


def test_equal_versions_are_equal_in_everything(quick: None) -> None:
    verdict = alike.judged("Scaled", module(OLD, "old"), module(NEW, "new"))
    assert verdict == alike.Verdict("Scaled", True, ("values", "second order", "torch.func", "vmap"), "", "module")


@pytest.mark.parametrize("reason", MUTANTS)
def test_a_planted_difference_is_named(reason: str, quick: None) -> None:
    changed = NEW.replace(*MUTANTS[reason])
    assert changed != NEW
    verdict = alike.judged("Scaled", module(OLD, "old"), module(changed, "new"))
    assert verdict.same is False
    assert verdict.reason.startswith(reason)


def test_what_differs_from_itself_is_not_compared(quick: None) -> None:
    counting = OLD.replace("class Scaled", "COUNT = iter(range(99))\n\n\nclass Scaled").replace(
        "* scale  #", "* next(COUNT)  #"
    )
    verdict = alike.judged("Scaled", module(counting, "old"), module(NEW, "new"))
    assert verdict.same is None
    assert "two calls" in verdict.reason


def test_without_inputs_there_is_no_verdict(quick: None) -> None:
    verdict = alike.judged("Scaled", module(OLD.replace("sin(x)", "sin(x).nowhere"), "old"), module(NEW, "new"))
    assert verdict.same is None
    assert "nowhere" in verdict.reason


def test_the_command_rewrites_and_says_what_it_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file, other = tmp_path / "a.py", tmp_path / "b.py"
    file.write_text(OLD)
    other.write_text(
        OLD.replace("ctx.save_for_backward(x)", "ctx.save_for_backward(x)\n        ctx.half = y / 2")
        .replace("Scaled", "Kept")
        .replace("return y", "z = y + 1\n        ctx.z = z\n        return z * 1")
    )
    assert main(["modernize", "a.py", "b.py"]) == 1
    out, err = capsys.readouterr()
    assert "+    def setup_context(ctx, inputs, output):" in out
    assert "Scaled is rewritten, verified with inputs of its file: values, second order, torch.func, vmap" in err
    assert "Kept is left alone: the context keeps" in err
    assert file.read_text() == OLD
    assert main(["modernize", "--write", "--no-verify", "a.py"]) == 0
    assert file.read_text().partition("\n\n\ndef make_inputs")[0] + "\n" == NEW
    assert "not verified, as asked" in capsys.readouterr().err
    assert main(["modernize", "--write", "--no-verify", "a.py"]) == 0


@pytest.mark.parametrize("arguments", [["missing.py"], ["empty"]])
def test_wrong_usage_of_modernize(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    assert main(["modernize", *arguments]) == 2
    assert capsys.readouterr().err.startswith("pullback modernize: no ")


def test_lint_and_explain_are_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(OLD.replace("g * torch.cos(x)", "torch.cos(x)"))
    assert main(["lint", "a.py"]) == 1
    assert "missing-grad-output" in capsys.readouterr().out
    assert main(["explain", "missing-grad-output"]) == 0
    assert capsys.readouterr().out.startswith("# PB201 missing-grad-output (error)")
    assert main(["explain", "missing-grad-outptu"]) == 2
    assert "near: missing-grad-output" in capsys.readouterr().err
