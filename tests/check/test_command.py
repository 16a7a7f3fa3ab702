"""`pullback check`: paths, exit status, formats, baselines, comments, hanging and crashing targets, slices."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pullback.check import jobs
from pullback.check.report import Report, target_from_dict
from pullback.cli import check as command

GOOD = """
import torch

class Good(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * ctx.saved_tensors[0] * grad_output
"""
BAD = GOOD.replace("Good", "Bad").replace("return 2 *", "return 3 *")
HANGS = GOOD.replace("Good", "Hangs").replace("        return 2 *", "        while True: pass\n        return 2 *")
CRASHES = GOOD.replace("Good", "Crashes").replace(
    "        return 2 *", "        __import__('os').abort()\n        return 2 *"
)
SCRIPT = GOOD + "\nraise SystemExit('a training script must not be started')\nfor i in range(3): print(i)\n"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Write files, run the command there, give back status, output and the report."""
    monkeypatch.chdir(tmp_path)

    def go(files: dict[str, str], *options: str, paths=(".",)):
        for name, text in files.items():
            (tmp_path / name).write_text(textwrap.dedent(text))
        status = command.main([*paths, "--format", "json", "--quiet", "-j", "1", *options])
        out = capsys.readouterr().out
        return status, json.loads(out) if out.startswith("{") else out

    return go


def test_good_and_bad(run) -> None:
    assert run({"good.py": GOOD})[0] == 0
    status, report = run({"bad.py": BAD})
    assert status == 1
    assert {t["name"]: (t["file"], t["status"]) for t in report["targets"]} == {
        "Good": ("good.py", "ok"),
        "Bad": ("bad.py", "fault"),
    }


def test_no_target_and_no_such_path(run) -> None:
    assert run({"empty.py": "x = 1\n"})[0] == 2
    assert run({}, paths=("nowhere",))[0] == 2


def test_one_that_hangs_or_crashes_loses_only_itself(run) -> None:
    status, report = run({"all.py": HANGS + CRASHES + GOOD}, "--timeout", "5", "--probes", "values")
    found = {t["name"]: t for t in report["targets"]}
    assert status == 1
    assert found["Hangs"]["status"] == "unchecked"
    assert "5 s" in found["Hangs"]["unchecked"]
    assert "SIGABRT" in found["Crashes"]["findings"][0]["message"]
    assert found["Good"]["status"] == "ok"


def test_a_script_is_not_started(run) -> None:
    status, report = run({"train.py": SCRIPT})
    assert status == 0
    assert "slice" in report["targets"][0]["notes"][0]


def test_baseline_and_selection(run, monkeypatch) -> None:
    assert run({"bad.py": BAD}, "--probes", "values", "--write-baseline", "known.json")[0] == 0
    found = run({}, "--probes", "values")[1]["targets"]
    monkeypatch.setattr(jobs, "run", lambda *_: Report([target_from_dict(target) for target in found]))
    assert run({}, "--baseline", "known.json")[0] == 0
    assert run({}, "--ignore", "PB204")[0] == 0
    assert run({}, "--select", "wrong-derivative")[0] == 1
    assert run({}, "--select", "PB1")[0] == 0


def test_comments_are_heard(run) -> None:
    ignored = BAD.replace(
        "class Bad(torch.autograd.Function):", "class Bad(torch.autograd.Function):  # pullback: ignore[PB204]"
    )
    meant = BAD.replace(
        "class Bad(torch.autograd.Function):", "class Bad(torch.autograd.Function):  # pullback: surrogate"
    )
    assert run({"one.py": ignored})[0] == 0
    status, report = run({"one.py": meant})
    assert status == 0
    assert report["targets"][0]["verdict"] == "intent"


def test_the_cases_file_gives_inputs_and_intentions(run, tmp_path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.pullback]\ncases = "cases.py"\n')
    cases = "import torch\ndef Bad_inputs(): return (torch.randn(3),)\ndef Bad_intended(x): return 1.5 * x * x\n"
    status, report = run({"bad.py": BAD, "cases.py": cases}, paths=("bad.py",))
    assert status == 0
    assert report["targets"][0]["inputs"] == "cases"


def test_a_notebook(run) -> None:
    cell = {"cell_type": "code", "source": ["%matplotlib inline\n", *BAD.splitlines(keepends=True)], "metadata": {}}
    status, report = run({"book.ipynb": json.dumps({"cells": [cell], "nbformat": 4, "nbformat_minor": 5})})
    assert status == 1
    assert report["targets"][0]["name"] == "Bad"


def test_a_module_and_one_of_its_names(run) -> None:
    status, report = run({"both.py": GOOD + BAD}, paths=("both:Good",))
    assert status == 0
    assert [t["name"] for t in report["targets"]] == ["Good"]


def test_what_could_not_be_loaded_here_is_not_the_authors_fault(run) -> None:
    text = BAD.replace("import torch", "import torch\nfrom not_installed_anywhere import scaled")
    status, report = run({"needs.py": text.replace("return 3 *", "return scaled(3) *")})
    (target,) = report["targets"]
    assert (status, target["status"]) == (1, "unchecked")
    assert "could not be loaded" in target["unchecked"]


def test_a_class_that_cannot_be_defined_with_this_pytorch_is_a_fault(run) -> None:
    status, report = run({"old.py": GOOD.replace("torch.autograd.Function", "torch.nn.Function")})
    (target,) = report["targets"]
    assert (status, target["status"]) == (1, "fault")
    assert [f["name"] for f in target["findings"]] == ["unknown-torch-attribute"]


def test_backward_that_raises_for_every_tensor_is_a_fault(run) -> None:
    text = BAD.replace("        return 3 *", "        if grad_output < 0:\n            return None\n        return 2 *")
    status, report = run({"asks.py": text})
    assert status == 1
    assert "backward-raises" in [f["name"] for f in report["targets"][0]["findings"]]


def test_a_worker_ends_with_the_command_that_started_it(tmp_path) -> None:
    told = tmp_path / "pid"
    tells = f"        __import__('pathlib').Path({str(told)!r}).write_text(str(__import__('os').getpid()))\n"
    (tmp_path / "hangs.py").write_text(HANGS.replace("        while True", f"{tells}        while True"))
    args = [sys.executable, "-m", "pullback", "check", "hangs.py", "--quiet", "--probes", "values", "--timeout", "100"]
    with subprocess.Popen(args, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as command:
        waited(lambda: told.exists() and told.read_text() != "")
        command.kill()
    waited(lambda: not runs(int(told.read_text())))


def waited(happens: Callable[[], bool], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < until
        time.sleep(0.1)


def runs(pid: int) -> bool:
    """Whether a process is there, and not only its exit status."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    program = [sys.executable, "-m", "pullback", "explain", "PB2"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        running.stdout.close()
        assert (running.stderr.read(), running.wait()) == (b"", 141)
