"""The table of stacks for anybody's function: which use the rule, drop it silently, refuse."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from mutants import ReversalForFunc, randn

import pullback as pb
from pullback.check.probes import stacks as probe_of_stacks
from pullback.check.stacks import STACKS, table
from pullback.cli import check as command

COMPILED = "compile of func.grad"
SURELY = ["eager", "no_grad", "func.grad", "func.jvp", "func.linearize", "make_fx", "vmap", "a pickled module"]


@pytest.fixture
def few(monkeypatch) -> Any:
    def choose(*names: str) -> None:
        monkeypatch.setattr(probe_of_stacks, "rows", lambda: [STACKS[name] for name in names])

    return choose


class Square(torch.autograd.Function):
    """Right, in the old form."""

    @staticmethod
    def forward(ctx, x, power):
        ctx.save_for_backward(x)
        return x**power

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * ctx.saved_tensors[0] * grad_output, None


@pb.function
def square(x, power):
    return x**power


@square.grad("x")
def _(g, x):
    return 2 * g * x


class Reversal(ReversalForFunc):
    """With a rule for forward mode, which is another one still."""

    @staticmethod
    def jvp(ctx, tangent):
        return -tangent


def stacks_of(fn: Any, *inputs: Any) -> dict[str, str]:
    (target,) = pb.check(fn, *inputs, probes=["stacks"]).targets
    return target.stacks


def test_a_pullback_function_is_all_right(few) -> None:
    few(*SURELY, COMPILED, "func.grad of a compiled function")
    report = pb.check(square, randn(3), 2, probes=["stacks"])
    assert report.ok
    assert report.findings == []
    assert f"stacks: all right ({len(SURELY) + 1})" in str(report)
    assert "nobody can: PyTorch does not transform a compiled function" in str(report)


def test_a_rule_that_is_dropped_is_named_with_its_stacks(few) -> None:
    few("eager", COMPILED, "make_fx")
    report = pb.check(ReversalForFunc, randn(3), probes=["stacks"])
    (finding,) = report.findings
    assert (finding.name, finding.severity) == ("stack-drops-rule", "error")
    assert finding.evidence["stacks"] == [COMPILED, "make_fx"]
    assert stacks_of(ReversalForFunc, randn(3)) == {
        "eager": "right", COMPILED: "drops the rule", "make_fx": "drops the rule",
    }  # fmt: skip


def test_a_right_rule_that_is_dropped_shows_too(few) -> None:
    few("eager", "func.grad", "make_fx")
    report = pb.check(Square, randn(3), 2, probes=["stacks"])
    assert report.ok
    assert [f.severity for f in report] == ["warning"]
    found = report.targets[0].stacks
    assert (found["eager"], found["make_fx"]) == ("right", "drops the rule, same values here")
    assert found["func.grad"].startswith("refuses: RuntimeError: ")
    assert Square.backward.__name__ == "backward"  # and not the one that gave itself away


def test_forward_mode_by_a_rule_of_its_own(few) -> None:
    few("forward_ad", "func.jvp", "func.grad")
    assert set(stacks_of(Reversal, randn(3)).values()) == {"right"}


def test_containers_and_plain_callables(few) -> None:
    few(*SURELY[:-1])
    assert set(stacks_of(lambda xs: xs[0] * xs[1].sin(), [randn(3), randn(3, seed=1)]).values()) == {"right"}


def test_what_is_missing_here_is_not_run(few, monkeypatch) -> None:
    few("ONNX export")
    monkeypatch.setattr(table, "find_spec", lambda name: None)
    assert stacks_of(square, randn(3), 2) == {"ONNX export": "not run: needs onnxscript and onnxruntime"}


def test_the_command_runs_the_probes_that_are_named(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.py").write_text(
        "import torch\nclass One(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
        "        return 2 * x\n    @staticmethod\n    def backward(ctx, g):\n        return 3 * g\n"
    )
    assert command.main(["one.py", "--quiet", "--format", "json", "--probes", "linearity"]) == 1  # nothing was compared
    (target,) = json.loads(capsys.readouterr().out)["targets"]
    assert (target["status"], target["findings"]) == ("unchecked", [])
    assert command.main(["one.py", "--quiet", "--probes", "linear"]) == 2
    assert "takes names of probes" in capsys.readouterr().err
