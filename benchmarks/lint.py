"""How fast the linter reads PyTorch's own sources, beside other linters: processor time, from one run.

Processor time counts what a linter does, on however many cores, and hardly depends on what else the machine does.
`python benchmarks/lint.py` prints the table; with `--write` it also goes into docs/lint.md. Linters that are not
installed are named as such.
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parents[1] / "docs/lint.md"
SOURCE = Path(__file__).parents[1] / "lint/src"
START, END = "<!-- speed: written by benchmarks/lint.py -->", "<!-- end of speed -->"
ROUNDS = 3
LIMIT = 15  # seconds of processor time; a linter that takes longer is stopped, and said to take more


class Tool(NamedTuple):
    """A linter: its command line without the tree, and whether it is there."""

    name: str
    command: list[str]
    installed: bool


def tools() -> list[Tool]:
    """The linters, ours first; each in one process where it can be told to."""
    program = f"import sys; sys.path.insert(0, {str(SOURCE)!r}); from pullback_lint.cli import main; sys.exit(main())"
    ours = [sys.executable, "-c", program]
    beside = Path(sys.executable).parent / "ruff"
    ruff = str(beside) if beside.exists() else shutil.which("ruff") or "ruff"
    flake8 = [sys.executable, "-m", "flake8", "--isolated", "--jobs=1", "--exit-zero"]
    fixed = [sys.executable, "-m", "torchfix", "--select=ALL"]
    has = {name: importlib.util.find_spec(name) is not None for name in ("flake8", "bugbear", "torchfix")}
    return [
        Tool("pullback-lint", [*ours, "--isolated", "--jobs=1", "--output", "/dev/null"], True),
        Tool("ruff, its default rules", [ruff, "check", "--isolated", "--no-cache", "--quiet", "--exit-zero"],
             shutil.which(ruff) is not None),
        Tool("ruff, the rules of flake8-bugbear", [ruff, "check", "--isolated", "--no-cache", "--quiet", "--exit-zero",
             "--select=B"], shutil.which(ruff) is not None),
        Tool("flake8-bugbear", [*flake8, "--select=B"], has["flake8"] and has["bugbear"]),
        Tool("TorchFix", fixed, has["torchfix"]),
    ]  # fmt: skip


def measured(command: list[str], tree: Path) -> float:
    """The least processor time that a command takes on a tree; of a slow one, that of the first run."""
    first = processor_time([*command, str(tree)])
    return min([first, *(processor_time([*command, str(tree)]) for _ in range(ROUNDS - 1) if first < LIMIT / 10)])


def processor_time(command: list[str], text: bytes = b"") -> float:
    """The seconds of processor time that a command takes, given a text to read."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command, input=text, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, preexec_fn=_bounded
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _bounded() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))


def start_up() -> float:
    """The median processor time of linting a file of one line, Python's own start included."""
    command = [*tools()[0].command, "-"]
    return statistics.median(processor_time(command, b"import torch\n") for _ in range(9))


def table(tree: Path) -> str:
    """The table as Markdown."""
    start = start_up()
    lines = sum(path.read_bytes().count(b"\n") for path in tree.rglob("*.py"))
    found = {tool.name: measured(tool.command, tree) for tool in tools() if tool.installed}
    ours = found["pullback-lint"]
    rows = [_row(tool.name, found.get(tool.name), lines, ours) for tool in tools()]
    head = ["| on PyTorch's own sources | processor time | lines/s | × pullback-lint |", "|---|--:|--:|--:|"]
    told = f"{lines:,} lines, on however many cores; a file of one line: {start:.2f} s, Python's own start included."
    return "\n".join([*head, *rows, "", f"{told} `python benchmarks/lint.py --write`."])


def _row(name: str, seconds: float | None, lines: int, ours: float) -> str:
    if seconds is None:
        return f"| {name} | not installed | | |"
    if seconds >= LIMIT - 1:
        return f"| {name} | over {LIMIT} s | under {lines / LIMIT:,.0f} | over {LIMIT / ours:.1f} |"
    return f"| {name} | {seconds:.1f} s | {lines / seconds:,.0f} | {seconds / ours:.2f} |"


def main() -> None:
    """Measure and print; with --write into the page as well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the table into docs/lint.md")
    parser.add_argument("--tree", type=Path, help="another tree than PyTorch's sources")
    options = parser.parse_args()
    tree = options.tree
    if tree is None:
        spec = importlib.util.find_spec("torch")
        if spec is None or spec.origin is None:
            parser.error("PyTorch is not installed; give --tree")
        tree = Path(spec.origin).parent
    found = table(tree)
    print(found)
    if options.write:
        before, _, rest = PAGE.read_text("utf-8").partition(START)
        PAGE.write_text(f"{before}{START}\n\n{found}\n\n{END}{rest.partition(END)[2]}", "utf-8")


if __name__ == "__main__":
    main()
