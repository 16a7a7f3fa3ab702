"""How long deriving and printing a formula takes: as a command of the shell, and in a process that has done it before.

``python benchmarks/derive.py`` prints the table; with ``--write`` it also goes into docs/performance.md.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from sympy.core.cache import clear_cache

from pullback.graph.parse import parse
from pullback.graph.source import autograd_source, function_source

PAGE = Path(__file__).parents[1] / "docs/performance.md"
START, END = "<!-- derive: written by benchmarks/derive.py -->", "<!-- end of derive -->"
SHELL, WARM = 2.5, 0.5
FORMULAS = (
    "x * torch.sigmoid(b * x)",
    "torch.nn.functional.gelu(x)",
    "4 * eps * ((s / r) ** 12 - (s / r) ** 6)",
    "torch.where(y > x, q * (y - x), (q - 1) * (y - x))",
    "-0.5 * ((x - mu) / sigma) ** 2 - torch.log(sigma) - 0.5 * math.log(2 * math.pi)",
    "x / torch.linalg.vector_norm(x, dim=-1, keepdim=True)",
    "torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=-1) @ v",
    "w * (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, unbiased=False, keepdim=True) + eps) + b",
)


def seconds(call: Callable[[str], None], text: str) -> float:
    """Processor time of this process and of those that it started: others on the machine do not count."""
    before = os.times()
    call(text)
    return sum(os.times()[:4]) - sum(before[:4])


def shell(text: str) -> None:
    subprocess.run([sys.executable, "-m", "pullback", "derive", text], check=True, stdout=subprocess.DEVNULL)


def warm(text: str) -> None:
    """Read, derive and print in both forms, with nothing left of an earlier time but what was imported."""
    clear_cache()
    for form in (function_source, autograd_source):
        form(parse(text))


def lines(repeats: int) -> list[str]:
    """The table as Markdown, with the verdict on the budgets."""
    found = ["| formula | from the shell | warm, both forms |", "|---|---:|---:|"]
    slowest = [0.0, 0.0]
    for text in FORMULAS:
        warm(text)  # the first time imports what is needed
        times = [statistics.median(seconds(call, text) for _ in range(repeats)) for call in (shell, warm)]
        slowest = [max(pair) for pair in zip(slowest, times, strict=True)]
        found.append(f"| `{text.replace('|', chr(92) + '|')}` | {times[0]:.2f} s | {times[1]:.3f} s |")
        print(found[-1], flush=True)
    kept = ["kept" if s <= budget else "**missed**" for s, budget in zip(slowest, (SHELL, WARM), strict=True)]
    return [*found, f"| budget | ≤ {SHELL} s: {kept[0]} | ≤ {WARM} s: {kept[1]} |"]


def section(table: list[str]) -> str:
    """The part of the page that this script writes."""
    intro = """## Deriving

`pullback derive` on one line, start of Python included, and the same in a process that has derived before: reading,
deriving, and printing as a Function and as an `autograd.Function`. Processor time, medians. Written by
`python benchmarks/derive.py --write`."""
    return "\n".join([START, "", intro, "", *table, "", END, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    table = lines(options.repeats)
    print(table[-1])
    if options.write:
        text = PAGE.read_text(encoding="utf-8")
        before, _, rest = text.partition(START)
        after = rest.partition(END)[2] or "\n"
        PAGE.write_text(before.rstrip() + "\n\n" + section(table).rstrip() + after, encoding="utf-8")


if __name__ == "__main__":
    main()
