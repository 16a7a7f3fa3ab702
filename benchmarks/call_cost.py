"""What one call costs without a kernel, beside the same function written by hand: ratios measured in one run.

``python benchmarks/call_cost.py`` prints the table; with ``--write`` it also goes into docs/performance.md.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ["PULLBACK_FUSE"] = "0"  # the cost of the rules alone; small_calls.py measures with kernels

import implementations as im
import torch

PAGE = Path(__file__).parents[1] / "docs/performance.md"
START, END = "<!-- call cost: written by benchmarks/call_cost.py -->", "<!-- end of call cost -->"


@dataclass(frozen=True)
class Row:
    """One measurement: a call, what it is compared with, and the most that the ratio may be."""

    name: str
    run: Callable[[], Any]
    beside: str = ""
    budget: float | None = None
    slack: float = 0.0  # seconds that the call may take more instead


def rows() -> list[Row]:
    """All rows; those compared with follow what they are compared with."""
    x, low, high = im.tensor(16), torch.tensor([-1.0], requires_grad=True), torch.tensor([1.0], requires_grad=True)
    fixed, idle = low.detach(), im.tensor(16, grad=False)
    t, hand = im.training, "by hand, forward(ctx)"
    return [
        Row("built-in (F.silu)", t(torch.nn.functional.silu, x)),
        Row("plain formula", t(im.plain, x)),
        Row(hand, t(im.ByHand.apply, x)),
        Row("by hand, setup_context", t(im.BySetup.apply, x), hand),
        Row("torch.library.custom_op", t(im.by_custom_op, x), hand),
        Row("Function, one rule", t(im.one_rule, x), hand, 1.05),
        Row("three arguments, by hand", t(im.ClampByHand.apply, x, low, high)),
        Row("Function, three rules", t(im.three_rules, x, low, high), "three arguments, by hand", 1.05),
        Row("one argument frozen, by hand", t(im.ClampByHand.apply, x, fixed, high)),
        Row("Function, one argument frozen", t(im.three_rules, x, fixed, high), "one argument frozen, by hand", 1.05),
        Row("two outputs, by hand", t(im.TwoByHand.apply, x)),
        Row("Function, two outputs", t(im.two_outputs, x), "two outputs, by hand", 1.1),
        Row("a kept mask, by hand", t(im.MaskByHand.apply, x)),
        Row("Function, a kept mask", t(im.kept_mask, x), "a kept mask, by hand", 1.05),
        Row("a kept float, by hand", t(im.FloatByHand.apply, x)),
        Row("Function, a kept float", t(im.kept_float, x), "a kept float, by hand", 1.1),  # one more output
        Row("nothing requires grad, plain formula", im.forward(im.plain, idle)),
        Row(
            "nothing requires grad, Function",
            im.forward(im.one_rule, idle),
            "nothing requires grad, plain formula",
            1.5,
            1e-6,
        ),
        Row("torch.func.grad, setup_context", im.func_grad(im.BySetup.apply, idle)),
        Row("torch.func.grad, Function", im.func_grad(im.one_rule, idle), "torch.func.grad, setup_context", 2.0),
    ]


def measure(table: list[Row], rounds: int = 60, calls: int = 100) -> dict[str, float]:
    """Seconds per call of each row: the median over rounds in which all rows take turns."""
    for row in table:
        for _ in range(50):
            row.run()
    times: dict[str, list[float]] = {row.name: [] for row in table}
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for row in table:
                times[row.name].append(_timed(row.run, calls))
    finally:
        gc.enable()
    return {name: statistics.median(values) for name, values in times.items()}


def _timed(run: Callable[[], Any], calls: int) -> float:
    start = time.thread_time()  # backward on the CPU runs in the calling thread; waiting for a busy core does not count
    for _ in range(calls):
        run()
    return (time.thread_time() - start) / calls


@dataclass(frozen=True)
class Result:
    """A row with what came out."""

    row: Row
    seconds: float
    ratio: float | None

    @property
    def within(self) -> bool:
        """Whether the budget is kept."""
        if self.ratio is None or self.row.budget is None:
            return True
        other = self.seconds / self.ratio
        return self.ratio <= self.row.budget or self.seconds - other <= self.row.slack


def results(rounds: int = 60, calls: int = 100) -> list[Result]:
    """All rows measured."""
    table = rows()
    times = measure(table, rounds, calls)
    return [Result(row, times[row.name], times[row.name] / times[row.beside] if row.beside else None) for row in table]


def markdown(found: list[Result]) -> str:
    """The table as Markdown."""
    lines = ["| one call | µs | ratio | budget | |", "|---|---:|---:|---:|---|"]
    for r in found:
        ratio = f"{r.ratio:.2f}" if r.ratio is not None else ""
        budget = f"≤ {r.row.budget}" if r.row.budget else ""
        budget += f" or + {r.row.slack * 1e6:.0f} µs" if r.row.slack else ""
        mark = "" if not r.row.budget else "kept" if r.within else "**missed**"
        lines.append(f"| {r.row.name} | {r.seconds * 1e6:.1f} | {ratio} | {budget} | {mark} |")
    return "\n".join(lines)


def section(found: list[Result]) -> str:
    """The part of the page that this script writes."""
    return f"""{START}

## One call

Forward and backward of a small function at 16 elements in float32, PyTorch {torch.__version__.partition("+")[0]}, one
thread, no compiled kernels (`PULLBACK_FUSE=0`): the thread's own processor time. Each figure is a median; the rows
take turns in one run, so the ratios hold on a busy machine, too. The ratio is to the same function written by hand,
which stands above it. This table was written by `python benchmarks/call_cost.py --write`.

{markdown(found)}

{END}"""


def write(text: str, page: Path = PAGE) -> None:
    """Put the section into the page, in place of the old one."""
    old = page.read_text() if page.exists() else "# Performance\n"
    if START in old:
        before, after = old.partition(START)[0], old.partition(END)[2]
        page.write_text(before + text + after)
    else:
        page.parent.mkdir(exist_ok=True)
        page.write_text(f"{old.rstrip()}\n\n{text}\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    parser.add_argument("--rounds", type=int, default=60)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    found = results(arguments.rounds)
    print(markdown(found))
    if arguments.write:
        write(section(found))
    return 0 if all(r.within for r in found) else 1


if __name__ == "__main__":
    raise SystemExit(main())
