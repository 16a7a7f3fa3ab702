"""Small files, small functions, tolerances from the one table, and nothing that only this machine would understand."""

from __future__ import annotations

import ast
import re
import statistics
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAX_LINES = 500
MEDIAN_LINES, NINETIETH_LINES = 8, 40
WRONG_ON_PURPOSE = ("lint/tests/fixtures/", "tests/corpus/")

LOCAL_PATH = r"(?<![\w.~-])/(work|root|home/\w+)/"
PACKAGE_INDEX = r"pypi\.org|pythonhosted\.org|download\.pytorch\.org|registry\.npmjs|anaconda\.org|index-url"


def tracked(*patterns: str) -> list[Path]:
    """The files of the repository, new ones included, without ignored ones."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [ROOT / name for name in sorted(names) if not name.startswith(WRONG_ON_PURPOSE) and (ROOT / name).is_file()]


def too_long(path: Path) -> list[str]:
    lines = len(path.read_text().splitlines())
    return [f"{path.name} has {lines} lines"] if lines > MAX_LINES else []


def function_lengths(text: str) -> Iterator[int]:
    """Lines of each function, its docstring left out: explaining is free."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0]
            has_doc = ast.get_docstring(node, clean=False) is not None
            doc = (first.end_lineno or first.lineno) - first.lineno + 1 if has_doc else 0
            yield (node.end_lineno or node.lineno) - node.lineno + 1 - doc


def too_big(lengths: list[int]) -> list[str]:
    median, ninetieth = statistics.median(lengths), statistics.quantiles(lengths, n=10)[-1]
    problems = [f"the median function has {median} lines"] if median > MEDIAN_LINES else []
    return problems + ([f"one function in ten has more than {ninetieth} lines"] if ninetieth > NINETIETH_LINES else [])


def literal_tolerances(text: str) -> list[str]:
    """Numbers given as a tolerance; an exact zero says *bit for bit* and is allowed."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    return [
        f"line {keyword.value.lineno}: {keyword.arg}={ast.unparse(keyword.value)}"
        for call in calls
        for keyword in call.keywords
        if keyword.arg in tolerance_names(call) and is_number(keyword.value) and ast.literal_eval(keyword.value) != 0
    ]


def tolerance_names(call: ast.Call) -> set[str]:
    return {"abs", "rel"} if ast.unparse(call.func).endswith("approx") else {"rtol", "atol"}


def is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float))


def without_reason(text: str) -> list[str]:
    """Skips and expected failures that do not say why."""
    tree = ast.parse(text)
    called = {node.func: node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    marks = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and is_skip(ast.unparse(node))]
    return [f"line {mark.lineno}: {mark.attr}" for mark in marks if not says_why(mark, called.get(mark))]


def is_skip(name: str) -> bool:
    return bool(re.fullmatch(r"pytest\.(mark\.)?(skip|skipif|xfail)", name))


def says_why(mark: ast.Attribute, call: ast.Call | None) -> bool:
    if call is None:
        return False
    positional = call.args if mark.attr == "skip" or not ast.unparse(mark).startswith("pytest.mark.") else []
    return bool(positional) or any(keyword.arg == "reason" for keyword in call.keywords)


def private_facts(text: str) -> list[str]:
    """Paths of somebody's machine and hosts of package indexes."""
    return [match[0] for match in re.finditer(f"{LOCAL_PATH}|{PACKAGE_INDEX}", text)]


PYTHON = tracked("*.py")
TESTS = [path for path in PYTHON if "tests" in path.relative_to(ROOT).parts]
SOURCES = [path for path in PYTHON if "src" in path.relative_to(ROOT).parts]
TEXTS = [path for path in tracked() if path != Path(__file__)]


def test_files_are_short() -> None:
    assert [problem for path in PYTHON for problem in too_long(path)] == []


def test_functions_are_short() -> None:
    assert too_big([length for path in SOURCES for length in function_lengths(path.read_text())]) == []


def test_tolerances_come_from_the_table() -> None:
    assert {path.name: found for path in TESTS if (found := literal_tolerances(path.read_text()))} == {}


def test_skips_say_why() -> None:
    assert {path.name: found for path in TESTS if (found := without_reason(path.read_text()))} == {}


def test_nothing_names_this_machine_or_an_index() -> None:
    texts = {path.name: path.read_text(errors="replace") for path in TEXTS}
    assert {name: found for name, text in texts.items() if (found := private_facts(text))} == {}


def test_a_planted_long_file_is_found(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = 1\n" * MAX_LINES)
    assert too_long(path) == []
    path.write_text("x = 1\n" * (MAX_LINES + 1))
    assert too_long(path) == ["a.py has 501 lines"]


def test_planted_long_functions_are_found() -> None:
    assert list(function_lengths('def f():\n    """Two\n    lines."""\n    return 1\n')) == [2]
    assert too_big([8] * 20) == []
    assert too_big([9] * 20) == ["the median function has 9.0 lines"]
    assert too_big([8] * 17 + [41] * 3) == ["one function in ten has more than 41.0 lines"]


@pytest.mark.parametrize(
    "call", ["assert_close(a, b, rtol=1e-5, atol=0)", "allclose(a, b, atol=1)", "approx(1, abs=0.1)"]
)
def test_a_planted_tolerance_is_found(call: str) -> None:
    assert len(literal_tolerances(call)) == 1


@pytest.mark.parametrize("call", ["assert_close(a, b, rtol=0, atol=0)", "assert_close(a, b, *t)", "f(a, abs=1)"])
def test_the_table_and_exactness_are_allowed(call: str) -> None:
    assert literal_tolerances(call) == []


@pytest.mark.parametrize(
    "text",
    ["@pytest.mark.skip\ndef f(): ...", "pytest.mark.skipif(x)", "pytest.mark.xfail(raises=E)", "pytest.skip()"],
)
def test_a_planted_bare_skip_is_found(text: str) -> None:
    assert len(without_reason(text)) == 1


@pytest.mark.parametrize("text", ["pytest.mark.skipif(x, reason='no GPU')", "pytest.skip('no compiler')"])
def test_a_skip_with_a_reason_is_allowed(text: str) -> None:
    assert without_reason(text) == []


# put together here, so that this file holds no such thing itself
PRIVATE = [
    "see /{}/x".format("work"),
    "'/{}/.cache'".format("root"),
    "https://{}.org/simple".format("pypi"),
    "pip --index-url x",
]
ORDINARY = ["docs/{}/plan.md".format("work"), "~/{}/pullback".format("work"), "a/{}/b".format("root")]


@pytest.mark.parametrize("text", PRIVATE)
def test_a_planted_private_fact_is_found(text: str) -> None:
    assert len(private_facts(text)) == 1


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_paths_are_allowed(text: str) -> None:
    assert private_facts(text) == []
