"""`watch` and `pullback run` check what running code meets; the pytest plugin collects targets."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import mutants
import pytest
import torch

import pullback as pb
from pullback.check import formats, watch
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


ENDS = {
    "plain": ("", 0),
    "crash": ("raise ValueError('on purpose')", 1),
    "interrupted": ("import os, signal; os.kill(os.getpid(), signal.SIGINT); import time; time.sleep(30)", 130),
    "left": ("sys.exit('said')", 1),
}
LOADED = SCRIPT.replace(
    "for _ in range(3):",
    """
class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.full((4,), float(index + 1))

for batch in torch.utils.data.DataLoader(Numbers(), batch_size=2, num_workers=2):
    op(batch.requires_grad_()).sum().backward()
for _ in range(3):""",
).replace("sys.exit(int(sys.argv[1]))", "")


def _pullback(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "pullback", *arguments], capture_output=True, text=True, timeout=120,
                          env=os.environ | environment)  # fmt: skip


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C is heard, also where the tests themselves run in the background, in which shells switch it off."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(("end", "status"), ENDS.values(), ids=ENDS)
def test_the_report_is_written_however_the_script_ends(tmp_path, capsys, end: str, status: int) -> None:
    script, output = tmp_path / "train.py", tmp_path / "report.json"
    script.write_text(SCRIPT.replace("sys.exit(int(sys.argv[1]))", end))
    assert run.main(["--format", "json", "--output", str(output), str(script)]) == status
    (target,) = json.loads(output.read_text())["targets"]
    assert (target["name"], target["status"]) == ("Bad", "fault")


def test_a_loop_over_loader_workers_is_watched_in_a_process_of_its_own(tmp_path) -> None:
    script, output = tmp_path / "train.py", tmp_path / "report.json"
    script.write_text(LOADED)
    done = _pullback("run", "--format", "json", "--output", str(output), str(script))
    assert done.returncode == 0, done.stderr
    (target,) = json.loads(output.read_text())["targets"]
    assert any("7 calls, 7 backward passes" in note for note in target["notes"])


def test_the_reports_of_all_ranks_are_one_in_the_end(tmp_path, monkeypatch) -> None:
    script, output = tmp_path / "train.py", tmp_path / "report.txt"
    script.write_text(SCRIPT.replace("op = Bad.apply", RANKED))
    monkeypatch.setenv("WORLD_SIZE", "2")
    (tmp_path / "report.rank1.json").write_text("left by an earlier run")
    for rank in ("1", "0"):
        monkeypatch.setenv("RANK", rank)
        assert run.main(["--output", str(output), str(script), "0"]) == 0
    parts = [json.loads((tmp_path / f"report.rank{rank}.json").read_text()) for rank in (0, 1)]
    assert [[t["name"] for t in part["targets"]] for part in parts] == [["Bad"], ["Other"]]
    text = output.read_text()
    assert "Bad: fault" in text
    assert "Other: fault" in text


def test_a_rank_that_ends_meanwhile_is_in_the_whole(tmp_path, monkeypatch) -> None:
    script, output = tmp_path / "train.py", tmp_path / "report.txt"
    script.write_text(SCRIPT.replace("op = Bad.apply", RANKED))
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    assert run.main(["--output", str(output), str(script), "0"]) == 0
    other = tmp_path / "report.rank1.json"
    ended = other.read_text()
    other.unlink()

    def slowly(report: object) -> str:
        other.write_text(ended)
        return as_text(report)

    as_text = formats.FORMATS["text"]
    monkeypatch.setitem(formats.FORMATS, "text", slowly)
    monkeypatch.setenv("RANK", "0")
    assert run.main(["--output", str(output), str(script), "0"]) == 0
    assert "Other: fault" in output.read_text()
    assert not list(tmp_path.glob(".*"))


RANKED = """
import os
class Other(Bad):
    pass
op = (Bad, Other)[int(os.environ["RANK"])].apply
"""


@pytest.mark.filterwarnings("ignore:.*should not be instantiated")  # the compiler does
def test_calls_inside_a_compiled_region_are_told() -> None:
    @torch.compile(backend="eager")
    def compiled(x):
        return mutants.Product.apply(x, x)

    with watch() as report:
        compiled(torch.randn(3, requires_grad=True)).sum().backward()
    (target,) = report.targets
    assert "compiled region" in str(target.unchecked) + " ".join(target.notes)
