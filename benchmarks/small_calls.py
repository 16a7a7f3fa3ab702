"""Fused calls on few elements: with the node in C++ and without, beside the formula in PyTorch and the built-in.

``python benchmarks/small_calls.py`` prints the table; with ``--write`` it also goes into docs/performance.md. The node
is built first where it is not there yet, which takes a minute or so.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from kernels import ROWS, Row, inputs

import pullback as pb
from pullback.cli._bench import measure
from pullback.kernels import native

PAGE = Path(__file__).parents[1] / "docs/performance.md"
START, END = "<!-- small calls: written by benchmarks/small_calls.py -->", "<!-- end of small calls -->"
SIZES = (1, 16, 256, 1024, 4096)


def without_node(fn: Any, given: list[Any]) -> Any:
    """A Function that has been called before the node was there, so that none stands before it."""
    node = list(native.LOADED)
    native.LOADED.clear()
    for _ in range(3):
        measure.training(fn, given)()
    native.LOADED.extend(node)
    return fn


def candidates(row: Row, size: int) -> dict[str, Callable[[], Any]]:
    """Forward and backward of each."""
    given = inputs(row, size)
    found = {"eager": row.formula, "node": pb.function(fuse=True)(row.formula)}
    found["ctypes"] = without_node(pb.function(fuse=True)(row.formula), given)
    if row.built_in is not None:
        found["built-in"] = row.built_in
    calls = {name: measure.training(fn, given) for name, fn in found.items()}
    for _ in range(5):  # the first calls teach the node
        for call in calls.values():
            call()
    return calls


def medians(calls: dict[str, Callable[[], Any]], seconds: float, each: int = 20) -> dict[str, float]:
    """Seconds of this thread for one call of each: medians over turns."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times["eager"]) < 5:
        for name, call in calls.items():
            start = time.thread_time()
            for _ in range(each):
                call()
            times[name].append((time.thread_time() - start) / each)
    return {name: statistics.median(found) for name, found in times.items()}


def lines(seconds: float, sizes: tuple[int, ...]) -> list[str]:
    """The table as Markdown: for each size the node's time by eager's, without the node, and by the built-in's."""
    heads = [f"{size:,}: {what}" for size in sizes for what in ("eager", "eager, no node", "built-in")]
    found = [f"| own time / | {' | '.join(heads)} |", f"|---|{'---:|' * len(heads)}"]
    for row in ROWS:
        cells = []
        for size in sizes:
            t = medians(candidates(row, size), seconds)
            cells += [f"{t['node'] / t['eager']:.2f}", f"{t['ctypes'] / t['eager']:.2f}"]
            cells.append(f"{t['node'] / t['built-in']:.2f}" if "built-in" in t else "")
        name = row.name.replace("|", "\\|")
        found.append(f"| {name} | {' | '.join(cells)} |")
        print(found[-1], flush=True)
    return found


def section(table: list[str]) -> str:
    """The part of the page that this script writes."""
    intro = f"""## Fused calls on few elements

Forward and backward in float32, PyTorch {torch.__version__.partition("+")[0]}, one thread: the thread's own processor
time by way of the node in C++, divided by that of the formula in plain PyTorch and of the built-in; and without the
node (a Python `autograd.Function` that calls the kernels), where calls with up to 1024 elements are left to the eager
rules unless `fuse=True` asks for kernels, as here. Medians of calls that take turns in one run; less than one is
faster. This table was written by `python benchmarks/small_calls.py --write`."""
    return "\n".join([START, "", intro, "", *table, "", END, ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    parser.add_argument("--seconds", type=float, default=0.3, help="for each function and size")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    options = parser.parse_args()
    torch.set_num_threads(1)
    if not native.wait():
        print("The node in C++ cannot be had here: there is no compiler for C++, or PULLBACK_NODE=0.")
        return 1
    table = lines(options.seconds, tuple(int(s) for s in options.sizes.split(",")))
    if options.write:
        text = PAGE.read_text(encoding="utf-8")
        before, _, rest = text.partition(START)
        after = rest.partition(END)[2] or "\n"
        PAGE.write_text(before.rstrip() + "\n\n" + section(table).rstrip() + after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
