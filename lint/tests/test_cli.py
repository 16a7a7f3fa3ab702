import io
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from pullback_lint.cli import main
from pullback_lint.reports import FORMATS

FAULTY = """import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x
"""
CORRECT = FAULTY.replace("return 2 * x", "return 2 * g * x")
WARNED = FAULTY.replace("return 2 * x", "return (2 * g * x.detach()).view(-1) * g.view(-1)")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder, **files):
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")


def run(capsys, *arguments):
    status = main([*arguments])
    return status, capsys.readouterr().out


@pytest.mark.parametrize(
    ("source", "strict", "status"), [(FAULTY, 0, 1), (CORRECT, 0, 0), (CORRECT, 1, 0), (WARNED, 0, 0), (WARNED, 1, 1)]
)
def test_exit_status(folder, source, strict, status):
    write(folder, a=source)
    assert main(["a.py", *["--strict"] * strict]) == status


@pytest.mark.parametrize(
    "arguments", [["missing.py"], ["--select", "PB999", "."], ["-", "a.py"], ["--baseline", "none.json", "a.py"]]
)
def test_usage_errors_have_status_two_and_say_why(folder, capsys, arguments):
    write(folder, a=FAULTY)
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith("pullback-lint: ")


def test_text_shows_source_line_and_caret(folder, capsys):
    write(folder, a=FAULTY)
    _, out = run(capsys, "a.py")
    assert "error[PB201] missing-grad-output: this gradient does not contain `g`\n  --> a.py:13:16\n" in out
    assert "13 |         return 2 * x\n   |                ^^^^^\n   = help: multiply by `g`\n" in out


def test_json_has_the_fields_of_the_checker(folder, capsys):
    write(folder, a=FAULTY, b=CORRECT)
    _, out = run(capsys, "--format", "json", ".")
    data = json.loads(out)
    assert data["version"] == 1
    assert data["summary"] == {"targets": 2, "ok": 1, "fault": 1, "unchecked": 0}
    first = data["targets"][0]
    assert (first["name"], first["file"], first["line"], first["kind"]) == ("Square", "a.py", 4, "autograd.Function")
    found = next(item for item in first["findings"] if item["code"] == "PB201")
    assert {"name": "missing-grad-output", "severity": "error", "argument": "x", "line": 13}.items() <= found.items()


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_renders_findings_and_unreadable_files(folder, capsys, name):
    write(folder, a=FAULTY, broken="def backward(:\n")
    status, out = run(capsys, "--format", name, ".")
    assert status == 1
    assert "broken" in out
    assert "PB201" in out
    if name in {"json", "sarif"}:
        json.loads(out)
    if name == "junit":
        suite = ElementTree.fromstring(out)
        assert (suite.get("failures"), suite.get("errors")) == ("1", "1")


def test_sarif_rules_carry_the_page(folder, capsys):
    write(folder, a=FAULTY)
    _, out = run(capsys, "--format", "sarif", "--select", "PB201", "a.py")
    (rule,) = json.loads(out)["runs"][0]["tool"]["driver"]["rules"]
    assert rule["id"] == "PB201"
    assert "## Why it matters" in rule["help"]["markdown"]


@pytest.mark.parametrize(
    "comment",
    [
        "# pullback: ignore[PB201]",
        "# pullback: ignore[missing-grad-output]",
        "# pullback: ignore",
        "# pullback: ignore[PB2]",
    ],
)
def test_comment_on_the_line_ignores(folder, comment):
    write(folder, a=FAULTY.replace("return 2 * x", f"return 2 * x  {comment}"))
    assert main(["a.py"]) == 0


@pytest.mark.parametrize(
    ("comment", "status"),
    [("# pullback: ignore[PB201]", 0), ("# pullback: surrogate", 0), ("# pullback: ignore[PB301]", 1)],
)
def test_comment_on_the_class_holds_for_the_class(folder, comment, status):
    write(folder, a=FAULTY.replace("Function):", f"Function):  {comment}"))
    assert main(["a.py"]) == status


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(["--select", "PB3"], 0), (["--ignore", "missing-grad-output"], 0), (["--select", "PB201,PB3"], 1)],
)
def test_selection(folder, arguments, status):
    write(folder, a=FAULTY)
    assert main([*arguments, "a.py"]) == status


def test_baseline_reports_only_what_is_new(folder):
    write(folder, a=FAULTY)
    assert main(["--write-baseline", "known.json", "a.py"]) == 0
    assert main(["--baseline", "known.json", "a.py"]) == 0
    write(folder, a="\n\n" + FAULTY)
    assert main(["--baseline", "known.json", "a.py"]) == 0
    write(folder, a=FAULTY + FAULTY.replace("Square", "Other"))
    assert main(["--baseline", "known.json", "a.py"]) == 1


def test_pyproject_sets_what_is_ignored(folder):
    write(folder, a=FAULTY)
    (folder / "pyproject.toml").write_text('[tool.pullback]\nignore = ["PB201"]\n')
    assert main(["a.py"]) == 0
    assert main(["--isolated", "a.py"]) == 1
    (folder / "pyproject.toml").write_text('[tool.pullback.per-file-ignores]\n"a*.py" = ["PB2"]\n')
    assert main(["a.py"]) == 0


@pytest.mark.parametrize("setting", ["unknown = 1", 'ignore = "PB201"', "level = 3"])
def test_wrong_settings_are_refused(folder, capsys, setting):
    write(folder, a=FAULTY)
    (folder / "pyproject.toml").write_text(f"[tool.pullback]\n{setting}\n")
    assert main(["a.py"]) == 2
    assert "tool.pullback" in capsys.readouterr().err


def test_git_ignored_files_are_left_out_and_named_ones_are_not(folder, capsys):
    (folder / ".git").mkdir()
    (folder / ".gitignore").write_text("build/\n*_gen.py\n!keep_gen.py\n/only_here.py\n")
    (folder / "build").mkdir()
    (folder / "sub").mkdir()
    write(folder, a=FAULTY, b_gen=FAULTY, keep_gen=FAULTY, only_here=FAULTY)
    write(folder / "build", c=FAULTY)
    write(folder / "sub", only_here=FAULTY)
    _, out = run(capsys, "--format", "json", ".")
    assert [target["file"] for target in json.loads(out)["targets"]] == ["a.py", "keep_gen.py", "sub/only_here.py"]
    assert main(["build/c.py"]) == 1


def test_notebook_cells_are_linted_and_named(folder, capsys):
    cells = [
        {"cell_type": "markdown", "source": ["# title"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "!ls\n", "import torch"]},
        {"cell_type": "code", "source": FAULTY.replace("import torch\n", "")},
    ]
    (folder / "n.ipynb").write_text(json.dumps({"cells": cells}))
    status, out = run(capsys, "n.ipynb")
    assert status == 1
    assert "n.ipynb:cell 3:12:16" in out


def test_standard_input(folder):
    command = [sys.executable, "-m", "pullback_lint", "--format", "json", "-"]
    done = subprocess.run(command, input=FAULTY, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert json.loads(done.stdout)["targets"][0]["file"] == "-"


def test_several_processes_find_the_same(folder, capsys):
    for index in range(90):
        write(folder, **{f"f{index:02}": FAULTY if index % 3 else CORRECT})
    _, one = run(capsys, "--format", "json", "--jobs", "1", ".")
    _, two = run(capsys, "--format", "json", "--jobs", "2", ".")
    assert one == two


def test_base_classes_are_found_in_files_next_to_it(folder):
    write(folder, base="import torch\nclass Base(torch.autograd.Function):\n    pass\n")
    write(
        folder, a=FAULTY.replace("import torch\n", "from base import Base\n").replace("torch.autograd.Function", "Base")
    )
    assert main(["a.py"]) == 1


def test_explain_prints_the_page(capsys):
    status, out = run(capsys, "--explain", "missing-grad-output")
    assert status == 0
    assert out.startswith("# PB201 missing-grad-output (error)\n")


def test_fix_repairs_the_file(folder, capsys):
    write(folder, a=FAULTY.replace("return 2 * x", "return g.view(9)"))
    run(capsys, "--fix", "a.py")
    assert "return g.reshape(9)" in (folder / "a.py").read_text()


def test_standard_input_has_a_name_and_is_repaired_to_standard_output(folder, capsys, monkeypatch):
    source = FAULTY.replace("return 2 * x", "return (g * x).view(-1), g.view(-1)")
    monkeypatch.setattr("sys.stdin", io.StringIO(source))
    main(["--fix", "--stdin-filename", "pkg/a.py", "-"])
    out, err = capsys.readouterr()
    assert out == source.replace("g.view(-1)", "g.reshape(-1)")
    assert "--> pkg/a.py:13:" in err


@pytest.mark.parametrize("option", ["--output", "--write-baseline"])
def test_a_file_that_cannot_be_written_is_wrong_usage(folder, capsys, option):
    write(folder, a=FAULTY)
    assert main([option, "missing/file", "a.py"]) == 2
    assert "cannot write missing/file" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--jobs", "-1"], ["--jobs", "x"], ["--format", "yaml"], ["--level", "bad"]])
def test_wrong_options_are_told_with_status_two(folder, capsys, arguments):
    with pytest.raises(SystemExit) as leaving:
        main([*arguments, "."])
    assert leaving.value.code == 2
    assert arguments[0] in capsys.readouterr().err


def test_a_file_that_is_not_python_alone_is_a_fault(folder):
    write(folder, a="import torch\nclass F(torch.autograd.Function):\n    def (\n")
    assert main(["a.py"]) == 1


def test_the_hook_of_this_repository_runs_the_linter_and_installs_nothing(folder, capsys):
    root = Path(__file__).parents[2]
    hooks = (root / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    settings = dict(re.findall(r"^[- ] (\w+): (.+)$", hooks, re.MULTILINE))
    assert (settings["id"], settings["language"], settings["types_or"]) == (
        "pullback-lint",
        "script",
        "[python, jupyter]",
    )
    write(folder, a=FAULTY)
    script = root / settings["entry"]
    found = subprocess.run([sys.executable, str(script), "a.py"], capture_output=True, text=True, check=False)
    assert (found.returncode, "error[PB201]" in found.stdout) == (1, True)
    assert os.access(script, os.X_OK)


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    program = [sys.executable, "-m", "pullback_lint", "--explain", "PB201"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        running.stdout.close()
        assert (running.stderr.read(), running.wait()) == (b"", 141)
