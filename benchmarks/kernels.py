"""Fused functions beside PyTorch: forward and backward, ratios measured side by side in one run.

``python benchmarks/kernels.py`` prints the table; with ``--write`` it also goes into docs/performance.md. ``--compile``
adds torch.compile, whose first call takes seconds for each function; ``--growth FILE`` draws how the time grows.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

import pullback as pb
from pullback.cli._bench import measure

os.environ["PULLBACK_FUSE"] = "1"  # wait for the compiler
PAGE = Path(__file__).parents[1] / "docs/performance.md"
START, END = "<!-- kernels: written by benchmarks/kernels.py -->", "<!-- end of kernels -->"
MANY = 1_000_000
SIZES = [16, MANY]
LARGE = 16_777_216
CACHED = 32_768
CHANNELS = 16


@dataclass(frozen=True)
class Row:
    """A formula, what its arguments are (``f`` full, ``s`` one element, ``c`` one per channel), and the built-in."""

    name: str
    formula: Callable[..., Any]
    kinds: str = "f"
    built_in: Callable[..., Any] | None = None
    single: bool = False  # one operation only


ROWS = [
    Row("x/(1+|x|)", lambda x: x / (1 + x.abs()), built_in=F.softsign),
    Row("x³ - 2x² + x", lambda x: x * x * x - 2 * x * x + x),
    Row("√x + 1/x", lambda x: torch.sqrt(x) + 1 / x),
    Row("1/(1+x²)", lambda x: 1 / (1 + x * x)),
    Row("relu²", lambda x: torch.relu(x) ** 2),
    Row("hard swish", lambda x: x * torch.clamp(x + 3, 0, 6) / 6, built_in=F.hardswish),
    Row("exp", lambda x: torch.exp(x), single=True),
    Row("tanh", lambda x: torch.tanh(x), built_in=torch.tanh, single=True),
    Row("sigmoid", lambda x: torch.sigmoid(x), built_in=torch.sigmoid, single=True),
    Row("silu", lambda x: x * torch.sigmoid(x), built_in=F.silu),
    Row("gelu", lambda x: x * 0.5 * (1 + torch.erf(x * 0.7071067811865476)), built_in=F.gelu),
    Row("softplus", lambda x: torch.log1p(torch.exp(x)), built_in=F.softplus),
    Row("mish", lambda x: x * torch.tanh(F.softplus(x)), built_in=F.mish),
    Row("elu, as written", lambda x: torch.where(x > 0, x, torch.expm1(x)), built_in=F.elu),
    Row("log cosh", lambda x: torch.abs(x) + torch.log1p(torch.exp(-2 * torch.abs(x)))),
    Row("Gaussian", lambda x: torch.exp(-x * x)),
    Row("swish, learned slope", lambda x, b: x * torch.sigmoid(b * x), "fs"),
    Row("Morse potential", lambda x, a: (1 - torch.exp(-a * (x - 1.0))) ** 2, "fs"),
    Row("clamp, learned bounds", lambda x, low, high: torch.clamp(x, low, high), "fss"),
    Row("snake, per channel", lambda x, a: x + torch.sin(a * x) ** 2 / a, "fc"),
    Row("PReLU, per channel", lambda x, a: torch.where(x > 0, x, a * x), "fc"),
    Row("SwiGLU", lambda a, b: F.silu(a) * b, "ff"),
    Row("smooth maximum", lambda a, b: torch.log(torch.exp(a) + torch.exp(b)), "ff"),
    Row("a·b + c·tanh(a)", lambda a, b, c: a * b + c * torch.tanh(a), "fff"),
]


def inputs(row: Row, size: int) -> list[torch.Tensor]:
    """Arguments of a size; with channels, sixteen of them in the middle."""
    channels, batch = min(CHANNELS, size), 1 if size < 1000 else 4
    full = (batch, channels, size // (batch * channels)) if "c" in row.kinds else (size,)
    shapes = {"f": full, "s": (), "c": (channels, 1)}
    torch.manual_seed(0)
    return [(torch.rand(shapes[kind]) + 0.5).requires_grad_() for kind in row.kinds]


def measured(row: Row, size: int, seconds: float, compiled: bool) -> dict[str, float]:
    """Seconds of each candidate."""
    fused, given = pb.function(fuse=True)(row.formula), inputs(row, size)
    calls = {"eager": measure.training(row.formula, given), "pullback": measure.training(fused, given)}
    if row.built_in is not None:
        calls["built-in"] = measure.training(row.built_in, given)
    if compiled:
        calls["compile"] = measure.training(torch.compile(row.formula, dynamic=False), given)
    return measure.medians({"limit": measure.limit(given), **calls}, seconds)


def arithmetic(row: Row, seconds: float) -> float:
    """Seconds that an element takes a thread where memory costs nothing: what more elements add, within the cache."""
    threads, fused = torch.get_num_threads(), pb.function(fuse=True)(row.formula)
    torch.set_num_threads(1)
    try:
        calls = {str(n): measure.training(fused, inputs(row, n)) for n in (CHANNELS, CACHED)}
        times = measure.medians(calls, seconds)
    finally:
        torch.set_num_threads(threads)
    return (times[str(CACHED)] - times[str(CHANNELS)]) / (CACHED - CHANNELS)


def lines(seconds: float, compiled: bool) -> list[str]:
    """The table as Markdown."""
    heads = [f"{size:,}: {what}" for size in SIZES for what in ("eager", "built-in", "limit")]
    heads += [f"{size:,}: compile" for size in SIZES if compiled] + [f"arithmetic at {MANY:,}: eager"]
    found = [f"| own time / | {' | '.join(heads)} |", f"|---|{'---:|' * len(heads)}"]
    for row in ROWS:
        times = [measured(row, size, seconds, compiled) for size in SIZES]
        cells = [_ratio(t, what) for t in times for what in ("eager", "built-in", "limit")]
        cells += [_ratio(t, "compile") for t in times if compiled]
        least = arithmetic(row, seconds) * MANY / torch.get_num_threads()
        cells.append(_ratio({**times[SIZES.index(MANY)], "pullback": least}, "eager"))
        name = row.name.replace("|", "\\|")
        found.append(f"| {name} | {' | '.join(cells)} |")
        print(found[-1], flush=True)
    return found


def _ratio(times: dict[str, float], what: str) -> str:
    return f"{times['pullback'] / times[what]:.2f}" if what in times else ""


def page(table: list[str]) -> str:
    """The section of docs/performance.md."""
    intro = f"""## Fused functions

Forward and backward in float32 as one compiled kernel each, PyTorch {torch.__version__.partition("+")[0]},
{torch.get_num_threads()} threads: the time of pullback divided by that of the formula in plain PyTorch, of the built-in
where there is one, and of the traffic that no kernel can avoid (a copy and, for each large argument, an addition, into
memory that is there already). Medians of calls that take turns in one run; less than one is faster. Rows of one
operation (exp, tanh, sigmoid) have the least to win. Large results come from memory that is used again. The last column
is what the arithmetic of these kernels alone takes on all threads, measured within the cache: they are not
faster on this processor, wherever their operands lie. This table was written by
`python benchmarks/kernels.py --large --write`."""
    return "\n".join([START, "", intro, "", *table, "", END, ""])


def growth(path: str) -> None:
    """Draw the time of mish against the number of elements, with one thread and with two."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 5))
    axes = figure.add_subplot(xscale="log", yscale="log", xlabel="elements", ylabel="seconds, forward and backward")
    row, sizes = next(r for r in ROWS if r.name == "mish"), [10**k for k in range(2, 9)]
    for threads in (1, 2):
        torch.set_num_threads(threads)
        times = [measured(row, size, 0.5, compiled=False) for size in sizes]
        for name in ("eager", "built-in", "pullback", "limit"):
            axes.plot(sizes, [t[name] for t in times], "-o" if threads == 1 else "--o", label=f"{name}, {threads}")
    axes.legend()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    parser.add_argument("--large", action="store_true", help="add 64 MB, where the system's page faults count most")
    parser.add_argument("--compile", action="store_true", help="measure torch.compile, too")
    parser.add_argument("--seconds", type=float, default=0.6, help="for each function and size")
    parser.add_argument("--growth", metavar="FILE", help="draw how the time grows instead")
    options = parser.parse_args()
    if options.growth:
        return growth(options.growth)
    if options.large:
        SIZES.append(LARGE)
    table = lines(options.seconds, options.compile)
    if options.write:
        text = PAGE.read_text(encoding="utf-8")
        before, _, rest = text.partition(START)
        PAGE.write_text(
            before.rstrip() + "\n\n" + page(table).rstrip() + (rest.partition(END)[2] or "\n"), encoding="utf-8"
        )
    return None


if __name__ == "__main__":
    main()
