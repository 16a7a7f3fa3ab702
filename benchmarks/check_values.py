"""How long a comparison of values takes beside torch's gradcheck, and what each of the two finds.

``python benchmarks/check_values.py`` prints the tables; with ``--write`` they also go into docs/performance.md.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from call_cost import PAGE

import pullback as pb

START, END = "<!-- check: written by benchmarks/check_values.py -->", "<!-- end of check -->"
ELEMENTS, PLANTED = 1024, 60
MAGNITUDES = (1e-6, 1e-4, 1e-2)


class Silu(torch.autograd.Function):
    """Pointwise."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * s * (1 + x * (1 - s))


class Softmax(torch.autograd.Function):
    """Rows."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        y = torch.softmax(x, -1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> torch.Tensor:
        (y,) = ctx.saved_tensors
        return y * (grad_output - (grad_output * y).sum(-1, keepdim=True))


class MatMul(torch.autograd.Function):
    """Two arguments."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x, w = ctx.saved_tensors
        return grad_output @ w.t(), x.t() @ grad_output


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    """Random numbers in float64 that require a gradient."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()


@dataclass(frozen=True)
class Row:
    """One function, its inputs, and how many times faster the comparison must be than gradcheck in slow mode."""

    name: str
    function: Any
    inputs: tuple[torch.Tensor, ...]
    budget: float


ROWS = [
    Row("pointwise, 1024 elements", Silu, (numbers(ELEMENTS),), 1000),
    Row("softmax, 16 × 32", Softmax, (numbers(16, 32),), 50),
    Row("matrix product, 16 × 24 by 24 × 16", MatMul, (numbers(16, 24), numbers(24, 16, seed=1)), 50),
]


@dataclass(frozen=True)
class Result:
    """Seconds that each takes."""

    row: Row
    gradcheck: float
    fast: float
    ours: float
    battery: float

    @property
    def ratio(self) -> float:
        """How many times faster than gradcheck in slow mode."""
        return self.gradcheck / self.ours


def results(rounds: int = 3) -> list[Result]:
    """All rows measured, the four ways taking turns."""
    return [_measured(row, rounds) for row in ROWS]


def _measured(row: Row, rounds: int) -> Result:
    ways: list[tuple[Callable[[], Any], int]] = [
        (lambda: torch.autograd.gradcheck(row.function.apply, row.inputs), 1),
        (lambda: torch.autograd.gradcheck(row.function.apply, row.inputs, fast_mode=True), 3),
        (lambda: pb.gradcheck(row.function, row.inputs, fast_mode=True), 30),
        (lambda: pb.check(row.function, *row.inputs), 1),
    ]
    for way, _ in ways[1:]:
        way()
    times: list[list[float]] = [[] for _ in ways]
    for _ in range(rounds):
        for found, (way, calls) in zip(times, ways, strict=True):
            found.append(_timed(way, calls))
    return Result(row, *[statistics.median(found) for found in times])


def _timed(way: Callable[[], Any], calls: int) -> float:
    start = time.thread_time()
    for _ in range(calls):
        way()
    return (time.thread_time() - start) / calls


def planted(where: int, magnitude: float) -> type[torch.autograd.Function]:
    """`Silu` with one of its Jacobian's entries off."""

    class Planted(Silu):
        @staticmethod
        def backward(ctx: Any, grad_output: torch.Tensor) -> torch.Tensor:
            grad = Silu.backward(ctx, grad_output)
            grad[where] *= 1 + magnitude
            return grad

    return Planted


def detected() -> Iterator[tuple[float, int, int]]:
    """For each magnitude, how many of the planted mistakes pullback and gradcheck's fast mode find."""
    x = numbers(ELEMENTS)
    for magnitude in MAGNITUDES:
        functions = [planted(17 * k + 3, magnitude) for k in range(PLANTED)]
        ours = sum(not pb.gradcheck(f, (x,), fast_mode=True, raise_exception=False) for f in functions)
        fast = [
            torch.autograd.gradcheck(f.apply, (x,), fast_mode=True, raise_exception=False, atol=0.0) for f in functions
        ]
        yield magnitude, ours, len(functions) - sum(fast)


def speed(found: list[Result]) -> str:
    """The times as Markdown."""
    lines = ["| float64 | gradcheck | its fast mode | pullback, fast mode | times faster | budget | all probes |",
             "|---|---:|---:|---:|---:|---:|---:|"]  # fmt: skip
    for r in found:
        ms = [f"{1e3 * t:.2f} ms" for t in (r.gradcheck, r.fast, r.ours, r.battery)]
        lines.append(f"| {r.row.name} | {' | '.join(ms[:3])} | {r.ratio:.0f} | ≥ {r.row.budget:.0f} | {ms[3]} |")
    return "\n".join(lines)


def detection() -> str:
    """What is found as Markdown."""
    lines = ["| one entry of 1024 off by | pullback | gradcheck, fast mode |", "|---|---:|---:|"]
    lines += [f"| {m:.0e} | {ours} of {PLANTED} | {fast} of {PLANTED} |" for m, ours, fast in detected()]
    return "\n".join(lines)


def section(found: list[Result]) -> str:
    """The part of the page that this script writes."""
    return f"""{START}

## Check

One comparison of values beside `torch.autograd.gradcheck` in slow mode, PyTorch {torch.__version__.partition("+")[0]},
one thread: processor time, the ways taking turns in one run. Written by `python benchmarks/check_values.py --write`.

{speed(found)}

What is found when one entry of the Jacobian of a pointwise function is made wrong, at {PLANTED} places:

{detection()}

{END}"""


def write(text: str) -> None:
    """Put the section into the page, in place of the old one."""
    old = PAGE.read_text()
    if START in old:
        PAGE.write_text(old.partition(START)[0] + text + old.partition(END)[2])
    else:
        PAGE.write_text(f"{old.rstrip()}\n\n{text}\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/performance.md")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    found = results()
    text = section(found)
    print(text)
    if arguments.write:
        write(text)
    return 0 if all(r.ratio >= r.row.budget for r in found) else 1


if __name__ == "__main__":
    raise SystemExit(main())
