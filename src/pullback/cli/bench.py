"""Measure a formula: PyTorch as it is, torch.compile, a built-in if there is one, and pullback."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from pullback.errors import PullbackError, UsageError

if TYPE_CHECKING:
    from pullback.cli._bench.subject import Subject

_EPILOG = """\
examples:
  pullback bench "x * torch.tanh(torch.nn.functional.softplus(x))"
  pullback bench "F.silu(a) * b" --data a,b --sizes 1000,1000000
  pullback bench activations.py:swish --classic activations.py:Swish --format json

The formula, or the file, is executed. Forward and backward are timed together; all candidates take turns in one run,
so that the ratios hold on a busy machine, too. "limit" is the traffic that no kernel can avoid: copying the input
forward, reading two tensors and writing one backward, into memory that is there already.
"""
SIZES = "100,1000,10000,100000,1000000,10000000"


def main(argv: list[str]) -> int:
    """Run the command; 0 on success, 2 when there is nothing to measure."""
    options = _parser().parse_args(argv)
    try:
        report = measured(options)
    except PullbackError as error:
        print(f"pullback bench: {error}", file=sys.stderr)
        return 2
    if options.plot:
        plot(report, options.plot)
    print(json.dumps(report, indent=1) if options.format == "json" else text(report))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pullback bench",
        description="Time forward and backward of a formula, and count what it keeps.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("formula", help="a formula, or FILE:FUNCTION")
    parser.add_argument("--classic", metavar="FILE:CLASS", help="an autograd.Function that computes the same")
    parser.add_argument("--data", default="", help="arguments that grow with the size, beside the first")
    parser.add_argument("--sizes", default=SIZES, help="numbers of elements")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each size")
    parser.add_argument("--no-compile", action="store_true", help="leave out torch.compile, whose first call is slow")
    parser.add_argument("--format", choices=["text", "json"], default="text")
    parser.add_argument("--plot", metavar="FILE", help="draw times against sizes; needs matplotlib")
    return parser


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """All figures: for each size and candidate seconds, bytes kept and peak bytes; seconds of the first calls."""
    import torch

    from pullback.cli._bench import measure
    from pullback.cli._bench.subject import named, rivals, subject

    what = subject(options.formula, tuple(filter(None, options.data.split(","))))
    classic = named(*_split(options.classic)) if options.classic else None
    dtype = _floating(getattr(torch, options.dtype, None), options.dtype)
    found = rivals(what, classic, not options.no_compile)
    sizes = _numbers(options.sizes)
    firsts = {name: measure.first(fn, what.inputs(sizes[0], dtype)) for name, fn in found.items()}
    _wait_for_node()
    rows = [_row(what, found, size, dtype, options.seconds) for size in sizes]
    return {"formula": options.formula, "dtype": options.dtype, "first_call": firsts, "sizes": rows}


def _wait_for_node() -> None:
    """Later processes have the node in C++ from the start, so that it belongs to what is measured."""
    from pullback.kernels import native

    if not native.LOADED and native.wanted() and sys.stderr.isatty():
        print("\rbuilding the node in C++, once …", end="", file=sys.stderr)
    native.wait()


def _floating(dtype: Any, name: str) -> Any:
    import torch

    if isinstance(dtype, torch.dtype) and dtype.is_floating_point:
        return dtype
    raise UsageError("--dtype", "a floating dtype", repr(name), "float32, float64, bfloat16 or float16")


def _numbers(text: str) -> list[int]:
    try:
        sizes = [int(float(part)) for part in text.split(",")]
    except (ValueError, OverflowError):
        sizes = []
    if sizes and min(sizes) >= 1:
        return sizes
    raise UsageError("--sizes", "numbers of elements, separated by commas", repr(text), "--sizes 1000,1e6")


def _split(place: str) -> tuple[str, str]:
    path, _, name = place.rpartition(":")
    if not path:
        raise UsageError(place, "FILE:CLASS", "no colon", "write the file, a colon and the name of the class")
    return path, name


def _row(what: Subject, found: dict[str, Any], size: int, dtype: Any, seconds: float) -> dict[str, Any]:
    from pullback.cli._bench import measure

    inputs = what.inputs(size, dtype)
    if sys.stderr.isatty():
        print(f"\r{size:>12,} elements …", end="", file=sys.stderr)
    calls = {name: measure.training(fn, inputs) for name, fn in found.items()}
    times = measure.medians({"limit": measure.limit(inputs), **calls}, seconds)
    return {
        "elements": size,
        "seconds": times,
        "kept": {name: measure.kept(fn, inputs) for name, fn in found.items()},
        "peak": {name: measure.peak(call) for name, call in calls.items()},
    }


def text(report: dict[str, Any]) -> str:
    """A table, and what to make of it."""
    names = list(report["first_call"])
    lines = [f"{'elements':>12}  {'':18}{'µs':>12}  {'of eager':>8}  {'of limit':>8}  {'kept':>12}  {'peak':>12}"]
    for row in report["sizes"]:
        times = row["seconds"]
        for at, name in enumerate(names):
            size = f"{row['elements']:,}" if at == 0 else ""
            ratio = f"{times[name] / times['eager']:8.2f}  {times[name] / times['limit']:8.1f}"
            memory = f"{row['kept'][name]:>12,}  {row['peak'][name] or 0:>12,}"
            lines.append(f"{size:>12}  {name:18}{times[name] * 1e6:12.1f}  {ratio}  {memory}")
    firsts = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in report["first_call"].items())
    return "\n".join([*lines, f"first call: {firsts}", advice(report)])


def advice(report: dict[str, Any]) -> str:
    """Which to use, in one sentence."""
    rest = [n for n in report["first_call"] if n not in ("pullback", "torch.compile", "autograd.Function")]
    ratios = []
    for row in report["sizes"]:
        best = min(row["seconds"][n] for n in rest)
        ratios.append(row["seconds"]["pullback"] / best)
    if min(ratios) > 0.9:
        return "Plain PyTorch is the better choice: pullback is not faster at any of these sizes."
    better = [f"{row['elements']:,}" for row, ratio in zip(report["sizes"], ratios, strict=True) if ratio > 1.1]
    small = f" Plain PyTorch is faster at {', '.join(better)} elements." if better else ""
    return f"pullback takes {min(ratios):.2f} of the time of the best plain PyTorch where it helps most.{small}"


def plot(report: dict[str, Any], path: str) -> None:
    """Draw seconds against elements, both by powers of ten."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError("--plot", "matplotlib draws it", "it is not installed", "install matplotlib") from None
    figure = Figure(figsize=(7, 5))
    axes = figure.add_subplot(xscale="log", yscale="log", xlabel="elements", ylabel="seconds, forward and backward")
    sizes = [row["elements"] for row in report["sizes"]]
    for name in ("limit", *report["first_call"]):
        axes.plot(sizes, [row["seconds"][name] for row in report["sizes"]], marker="o", label=name)
    axes.legend()
    figure.savefig(path)
