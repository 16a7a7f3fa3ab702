"""What keeping less costs, and how soon the first kernel is there.

``python benchmarks/keeping.py`` prints the tables; with ``--write`` they also go into docs/performance.md.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from kernels import LARGE, ROWS

import pullback as pb
from pullback.cli._bench import measure
from pullback.kernels import cache
from pullback.kernels.compile import compiler
from pullback.kernels.emit import header

os.environ["PULLBACK_FUSE"] = "1"  # wait for the compiler
PAGE = Path(__file__).parents[1] / "docs/performance.md"
START, END = "<!-- keeping: written by benchmarks/keeping.py -->", "<!-- end of keeping -->"
_N = 1024
_LOOPS = f"""
__attribute__((visibility("default"))) void pack_many(uint8_t *d, int *s, int64_t times) {{
  for (int64_t k = 0; k < times; k++) {{ pb_pack(d, s, {_N}); __asm__ volatile("" ::: "memory"); }} }}
__attribute__((visibility("default"))) void unpack_many(uint8_t *d, int *s, int64_t times) {{
  for (int64_t k = 0; k < times; k++) {{ pb_unpack(s, d, {_N}); __asm__ volatile("" ::: "memory"); }} }}
"""
_FIRST = """
import time, torch, pullback as pb
def called(name, text):
    space = {"torch": torch}
    exec(f"def f(x):\\n return {text}", space)
    fused, x = pb.function(fuse=True)(space["f"]), torch.rand(5000, requires_grad=True)
    start = time.perf_counter()
    fused(x).sum().backward()
    print(time.perf_counter() - start)
called("first", "x * torch.tanh(torch.log1p(torch.exp(x)))")
called("second", "torch.sin(x) / (1 + x * x)")
"""


def packing() -> dict[str, float]:
    """Nanoseconds for each condition, in the first-level cache."""
    found = compiler()
    assert found is not None
    library = cache.library(header() + _LOOPS, found)
    bits, conditions = (ctypes.c_uint8 * _N)(), (ctypes.c_int * (_N + 64))()
    times: dict[str, float] = {}
    for name in ("pack", "unpack"):
        run, spans = getattr(library, f"{name}_many"), []
        for _ in range(15):
            start = time.thread_time()
            run(bits, conditions, ctypes.c_int64(2000))
            spans.append(time.thread_time() - start)
        times[name] = statistics.median(spans) / 2000 / _N * 1e9
    return times


def masked(seconds: float) -> float:
    """relu, which keeps packed conditions, by a function of the same traffic without any, at 64 MB."""
    x = [torch.randn(LARGE, requires_grad=True)]
    relu, half = pb.function(fuse=True)(lambda x: torch.relu(x)), pb.function(fuse=True)(lambda x: x * 0.5)
    times = measure.medians({"relu": measure.training(relu, x), "half": measure.training(half, x)}, seconds)
    return times["relu"] / times["half"]


def backward(fn: Callable[..., Any], size: int, seconds: float) -> float:
    """Nanoseconds of backward alone for each element."""
    x = torch.randn(size, requires_grad=True)
    out, g = fn(x), torch.ones(size)
    times = measure.medians({"one": lambda: torch.autograd.grad(out, x, g, retain_graph=True)}, seconds)
    return times["one"] / size * 1e9


def first() -> list[tuple[float, ...]]:
    """Seconds of the first call of two functions in a fresh process: with nothing kept, and again with kernels kept."""
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "PULLBACK_CACHE_DIR": f"{home}/cache", "PULLBACK_NODE": "0"}
        command = [sys.executable, "-c", _FIRST]
        runs = [subprocess.run(command, env=environment, capture_output=True, text=True, check=True) for _ in range(2)]
    return [tuple(map(float, run.stdout.split())) for run in runs]


def section(seconds: float) -> str:
    """The part of the page that this script writes."""
    bits, (cold, warm) = packing(), first()
    rows = []
    for row in (r for r in ROWS if r.name in ("silu", "gelu", "mish")):
        ways = [pb.function(fuse=True, keep=keep)(row.formula) for keep in ("lossless", "small")]
        kernel, small = (backward(way, 1_000_000, seconds) for way in ways)
        rows.append(f"| {row.name} | {kernel:.2f} | {small:.2f} |")
    table = "\n".join(['| backward, ns an element | kernel | `keep="small"` |', "|---|---:|---:|", *rows])
    text = f"""## Keeping less, and the first kernel

PyTorch {torch.__version__.partition("+")[0]}, {torch.get_num_threads()} threads; written by
`python benchmarks/keeping.py --write`.

| what | measured | budget |
|---|---:|---:|
| packing a condition, one thread | {bits["pack"]:.2f} ns | ≤ 0.25 ns |
| unpacking it | {bits["unpack"]:.2f} ns | ≤ 0.25 ns |
| relu at 64 MB, which keeps conditions, by `x * 0.5`, which keeps none | {masked(seconds):.2f} | ≤ 1.1 |
| first call in a fresh process, with backward and the import of PyTorch's tracer | {cold[0]:.2f} s | ≤ 1.8 s |
| first call of a second function | {cold[1]:.2f} s | ≤ 0.3 s |
| both in a later process, their kernels kept on disk | {warm[0]:.2f} s, {warm[1]:.2f} s | |

With `keep="small"` the slope is read off the output by PyTorch's operations, for which no kernel is made yet."""
    return "\n".join([START, "", text, "", table, "", END, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/performance.md")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each measurement")
    options = parser.parse_args()
    made = section(options.seconds)
    print(made)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        before, _, rest = page.partition(START)
        after = rest.partition(END)[2] or "\n"
        PAGE.write_text(before.rstrip() + "\n\n" + made.rstrip() + after, encoding="utf-8")


if __name__ == "__main__":
    main()
