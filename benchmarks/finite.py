"""Are derived gradients finite wherever the true derivative is? At every 16-bit number, and at 2²⁴ of float32.

``python benchmarks/finite.py`` derives each formula of the tables of ``tests/graph`` that is a function of one tensor,
and is bounded in its slope, and evaluates the printed gradient; with ``--write`` the figures go into docs/derive.md.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import torch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests/graph"))

from test_finite import BOUNDED  # noqa: E402 - a table of the tests

from pullback.graph.parse import parse  # noqa: E402
from pullback.graph.source import autograd_source  # noqa: E402

PAGE = ROOT / "docs/derive.md"
START, END = "<!-- finite: written by benchmarks/finite.py -->", "<!-- end of finite -->"
CHUNK = 1 << 20


def every(dtype: torch.dtype, stride: int = 1) -> Iterator[torch.Tensor]:
    """All finite numbers of 16 bits, or of float32 every one at a stride, in chunks."""
    if dtype.itemsize == 2:
        x = torch.arange(-(2**15), 2**15, dtype=torch.int16).view(dtype)
        yield x[x.isfinite()]
        return
    for start in range(-(2**31), 2**31, CHUNK * stride):
        x = torch.arange(start, min(start + CHUNK * stride, 2**31), stride).to(torch.int32).view(dtype)
        yield x[x.isfinite()]


def not_finite(text: str, dtype: torch.dtype, stride: int = 1) -> tuple[int, int]:
    """How many inputs there are, and at how many of them the printed gradient is not finite."""
    space: dict[str, type[torch.autograd.Function]] = {}
    exec(autograd_source(parse(text)), space)
    inputs = bad = 0
    for x in every(dtype, stride):
        x.requires_grad_()
        (grad,) = torch.autograd.grad(space["Formula"].apply(x).sum(), x)
        inputs, bad = inputs + x.numel(), bad + int((~grad.isfinite()).sum())
    return inputs, bad


def main() -> None:
    """Print one line for each formula; at the end the sums."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stride", type=int, default=256, help="of float32: 256 makes 2**24 inputs")
    parser.add_argument("--write", action="store_true", help="write the sums into docs/derive.md")
    options = parser.parse_args()
    lines = []
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        found = [not_finite(text, dtype, options.stride) for text in BOUNDED]
        inputs, bad = max(n for n, _ in found), sum(b for _, b in found)
        lines.append(f"| {str(dtype).removeprefix('torch.')} | {inputs:,} | {len(BOUNDED)} | {bad} |")
        print(lines[-1], flush=True)
        print(*(f"    {b} of {n}: {text}" for text, (n, b) in zip(BOUNDED, found, strict=True) if b), sep="\n")
    if options.write:
        table = "\n".join(["| dtype | inputs | formulas | gradients not finite |", "|---|---|---|---|", *lines])
        page = PAGE.read_text(encoding="utf-8")
        page = re.sub(f"{START}.*{END}", f"{START}\n{table}\n{END}", page, flags=re.DOTALL)
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
