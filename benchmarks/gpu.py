"""Fused functions on a GPU: everything that is claimed of it, in one run of at most ten minutes.

``python benchmarks/gpu.py`` prints a table: forward and backward of each formula in plain PyTorch, by torch.compile, by
Liger's SwiGLU, and by pullback, whose graphs go to Inductor; with the share of the bandwidth that a copy reaches in the
same run, the bytes kept for backward, the most memory in use and the time of the first call. ``--device cpu`` tries the
script itself where there is no GPU; its figures say nothing.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from kernels import ROWS, Row

import pullback as pb
from pullback.cli._bench import measure

NAMES = ("silu", "gelu", "mish", "relu²", "1/(1+x²)", "clamp, learned bounds", "snake, per channel", "SwiGLU")


class Liger(torch.autograd.Function):
    """Liger's SwiGLU: keeps both inputs and computes the sigmoid again; in plain PyTorch, if Liger is not there."""

    @staticmethod
    def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """silu(a)·b."""
        ctx.save_for_backward(a, b)
        return F.silu(a) * b

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Both gradients from one sigmoid."""
        a, b = ctx.saved_tensors
        s = torch.sigmoid(a)
        silu = a * s
        return g * (silu * (1 - s) + s) * b, g * silu


def liger() -> Callable[..., Any]:
    """The kernel itself where it is installed, else its formula."""
    try:
        module = importlib.import_module("liger_kernel.ops.swiglu")
    except ImportError:
        return Liger.apply  # type: ignore[no-any-return]
    return module.LigerSiLUMulFunction.apply  # type: ignore[no-any-return]


def inputs(row: Row, size: int, dtype: torch.dtype, device: str) -> list[torch.Tensor]:
    """Arguments of a size; with channels, sixteen of them in the middle."""
    full = (4, 16, size // 64) if "c" in row.kinds else (size,)
    shapes = {"f": full, "s": (), "c": (16, 1)}
    torch.manual_seed(0)
    return [torch.rand(shapes[k], device=device, dtype=dtype).add(0.5).requires_grad_() for k in row.kinds]


def synchronize(device: str) -> None:
    """Wait for what has been started."""
    if device == "cuda":
        torch.cuda.synchronize()


def timed(call: Callable[[], Any], device: str, seconds: float) -> float:
    """Seconds of one call: the median of repetitions, each with a clean start."""
    found: list[float] = []
    end = time.perf_counter() + seconds
    while len(found) < 5 or time.perf_counter() < end:
        synchronize(device)
        start = time.perf_counter()
        call()
        synchronize(device)
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def copied(size: int, dtype: torch.dtype, device: str) -> float:
    """Bytes per second of a copy: what counts as the peak."""
    a = torch.ones(size, dtype=dtype, device=device)
    b = torch.empty_like(a)
    return 2 * size * dtype.itemsize / timed(lambda: b.copy_(a), device, 0.2)


def candidates(row: Row) -> dict[str, Callable[..., Any]]:
    """What is measured for one formula."""
    found: dict[str, Callable[..., Any]] = {"eager": row.formula}
    if row.built_in is not None:
        found["built-in"] = row.built_in
    if row.name == "SwiGLU":
        found["Liger"] = liger()
    found["torch.compile"] = torch.compile(row.formula)
    found["pullback"] = pb.function(fuse=True)(row.formula)
    return found


def measured(row: Row, size: int, dtype: torch.dtype, device: str, seconds: float) -> list[dict[str, Any]]:
    """One record for each candidate."""
    given, peak, found = inputs(row, size, dtype, device), copied(size, dtype, device), []
    moved = dtype.itemsize * size * (2 * row.kinds.count("f") + 1 + row.kinds.count("f") + 1)
    for name, fn in candidates(row).items():
        start = time.perf_counter()
        run = measure.training(fn, given)
        run()
        synchronize(device)
        first = time.perf_counter() - start
        if device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated() if device == "cuda" else 0
        took = timed(run, device, seconds)
        most = torch.cuda.max_memory_allocated() - before if device == "cuda" else 0
        found.append({
            "formula": row.name, "dtype": str(dtype).removeprefix("torch."), "elements": size, "candidate": name,
            "seconds": took, "of_peak": moved / took / peak, "kept": measure.kept(fn, given), "most": most,
            "first": first,
        })  # fmt: skip
    return found


def line(record: dict[str, Any], eager: float) -> str:
    """A row of the table."""
    return (
        f"| {record['formula']} | {record['dtype']} | {record['elements']:,} | {record['candidate']} "
        f"| {record['seconds'] * 1e6:.1f} | {record['seconds'] / eager:.2f} | {100 * record['of_peak']:.0f} % "
        f"| {record['kept']:,} | {record['most']:,} | {record['first']:.1f} s |"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--sizes", default="65536,1048576,67108864")
    parser.add_argument("--minutes", type=float, default=9.0, help="nothing new is begun after them")
    parser.add_argument("--seconds", type=float, default=0.3, help="for each candidate")
    parser.add_argument("--formulas", default=";".join(NAMES), help="names from benchmarks/kernels.py, with semicolons")
    parser.add_argument("--json", metavar="FILE", help="write the records, too")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        print("There is no CUDA device here: nothing is measured.")
        return 0
    if options.device != "cuda":
        os.environ["PULLBACK_GRAPHS"] = options.device
    end, records = time.perf_counter() + 60 * options.minutes, []
    wanted = [name.strip() for name in options.formulas.split(";")]
    print("| formula | dtype | elements | by | µs | of eager | of peak | kept | most memory | first call |")
    print("|---|---|---:|---|---:|---:|---:|---:|---:|---:|")
    for dtype in (torch.float32, torch.bfloat16):
        for row in (r for r in ROWS if r.name in wanted):
            for size in (int(s) for s in options.sizes.split(",")):
                if time.perf_counter() > end:
                    print("The time is over; what is missing was not measured.")
                    return _written(records, options.json)
                found = measured(row, size, dtype, options.device, options.seconds)
                print("\n".join(line(r, found[0]["seconds"]) for r in found), flush=True)
                records += found
    return _written(records, options.json)


def _written(records: list[dict[str, Any]], path: str | None) -> int:
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(records, file, indent=1)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
