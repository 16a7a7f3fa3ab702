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

from pullback_lint.relevance import is_relevant

PAGE = Path(__file__).parents[1] / "docs/lint.md"
SOURCE = Path(__file__).parents[1] / "lint/src"
START, END = "<!-- speed: written by benchmarks/lint.py -->", "<!-- end of speed -->"
ROUNDS = 2
STRIDE = 100  # slow linters read every 100th file: all would take many minutes


class Tool(NamedTuple):
    """A linter: its command line without paths, whether it is there, and whether it is slow."""

    name: str
    command: list[str]
    installed: bool
    is_slow: bool = False


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
        Tool("flake8-bugbear", [*flake8, "--select=B"], has["flake8"] and has["bugbear"], True),
        Tool("TorchFix", fixed, has["torchfix"], True),
    ]  # fmt: skip


def measured(command: list[str], paths: list[Path], rounds: int = ROUNDS) -> float:
    """The least processor time that a command takes on some paths."""
    return min(processor_time([*command, *map(str, paths)]) for _ in range(rounds))


def processor_time(command: list[str], text: bytes = b"") -> float:
    """The seconds of processor time that a command takes, given a text to read."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, input=text, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def start_up() -> float:
    """The median processor time of linting a file of one line, Python's own start included."""
    command = [*tools()[0].command, "-"]
    return statistics.median(processor_time(command, b"import torch\n") for _ in range(9))


def lines(paths: list[Path]) -> int:
    """The number of lines in some files."""
    return sum(path.read_bytes().count(b"\n") for path in paths)


def parsed(files: list[Path]) -> list[Path]:
    """The files that the linter takes apart."""
    return [path for path in files if is_relevant(path.read_text("utf-8", errors="replace"))]


def rate(files: list[Path]) -> float:
    """Lines per second of processor time, without what it takes to start and to load the rules."""
    command = tools()[0].command
    first, *others = sorted(files, key=lambda path: path.stat().st_size)
    return lines(others) / (measured(command, files) - measured(command, [first]))


def table(tree: Path) -> str:
    """The table as Markdown."""
    files = sorted(tree.rglob("*.py"))
    sample = files[::STRIDE]
    rows = [_row(tool, [tree] if not tool.is_slow else sample, sample if tool.is_slow else files) for tool in tools()]
    some = parsed(files)
    return "\n".join([
        "| on PyTorch's own sources | processor time | lines/s |", "|---|--:|--:|", *rows,
        f"| pullback-lint, the {len(some)} files that it parses | | {rate(some):,.0f} |",
        "",
        f"{lines(files):,} lines. A file of one line takes {start_up():.2f} s, Python's own start included.",
        "The last row is without start and loading. `python benchmarks/lint.py --write`.",
    ])  # fmt: skip


def _row(tool: Tool, paths: list[Path], files: list[Path]) -> str:
    if not tool.installed:
        return f"| {tool.name} | not installed | |"
    seconds = measured(tool.command, paths, 1 if tool.is_slow else ROUNDS)
    told = f", every {STRIDE}th file" if tool.is_slow else ""
    return f"| {tool.name}{told} | {seconds:.1f} s | {lines(files) / seconds:,.0f} |"


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
