"""`watch` and `pullback run` check what running code meets; the pytest plugin collects targets."""

from __future__ import annotations

import mutants
import pytest
import torch

import pullback as pb
from pullback.check import watch
from pullback.cli import run

pytest_plugins = "pytester"

SCRIPT = """
import sys, torch

class Bad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        return 3 * grad_output

op = Bad.apply
for _ in range(3):
    op(torch.randn(4, requires_grad=True)).sum().backward()
sys.exit(int(sys.argv[1]))
"""


def test_a_class_made_while_watching_and_an_alias_of_apply_are_seen() -> None:
    apply = mutants.WrongFormula.apply
    with watch() as report:

        class Later(mutants.Product):
            pass

        apply(*mutants.pair()).sum().backward()
        Later.apply(*mutants.pair()).sum().backward()
    assert {t.name: t.status for t in report.targets} == {"WrongFormula": "fault", "Later": "ok"}


def test_nothing_seen_is_said() -> None:
    with watch() as report:
        pass
    assert report.targets[0].unchecked == "no autograd.Function was called"


@pytest.mark.parametrize(("status", "fail_on", "expected"), [(0, None, 0), (7, None, 7), (0, "error", 1)])
def test_run_keeps_the_status_of_the_script(tmp_path, capsys, status, fail_on, expected) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    options = ["--fail-on", fail_on] if fail_on else []
    assert run.main([*options, str(script), str(status)]) == expected
    assert "wrong-derivative" in capsys.readouterr().err


def test_the_plugin_makes_one_test_per_target(pytester) -> None:
    pytester.makepyfile(bad=SCRIPT.split("op =")[0])
    pytester.makepyfile(test_it="def test_it(pullback_check): pass")
    result = pytester.runpytest_inprocess("--pullback", "-q")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*PB204 wrong-derivative*"])


def test_functions_are_met_under_their_own_names() -> None:
    @pb.function
    def cubed(x):
        return x**3

    @cubed.grad("x")
    def _(g, x):
        return 2 * x**2 * g

    x = torch.randn(3, requires_grad=True)
    with pb.watch() as report:
        for _ in range(3):
            cubed(x).sum().backward()
    assert [t.name for t in report.targets] == ["cubed"]
    assert "wrong-derivative" in {f.name for f in report.findings}
