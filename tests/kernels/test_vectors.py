"""Every loop of a kernel is made of vector instructions: one that is not is several times slower, and nothing else."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
import torch
from kernel_rows import ROWS, bent, clipped, mish, snake

import pullback as pb
from pullback.graph.plan import plan
from pullback.kernels.compile import compiler
from pullback.kernels.emit import emit
from pullback.kernels.program import read

GCC = compiler()
pytestmark = pytest.mark.skipif(GCC is None or "clang" in GCC.version, reason="asks gcc what it did")


def power(x, a):
    return torch.abs(x) ** a


def chosen(x, a):
    return torch.where(a > 0, torch.maximum(x, a), torch.fmin(a, x) * 2)


SCALAR: list[Callable[..., Any]] = [power, chosen]
FORMULAS = [(r.formula, r.shapes) for r in ROWS if r.formula in (clipped, bent, snake, mish)]
FORMULAS += [(f, ((900,), ())) for f in SCALAR]


def texts(formula: Callable[..., Any], shapes: Any) -> list[str]:
    function = pb.function(formula).__pullback__
    tensors = [torch.rand(s) for s in shapes]
    with torch.no_grad():
        made = plan(function, tuple(function.params), tensors)
    return [emit(read(graph)).text for graph in (made.forward, made.backward)]


def compiled(text: str, *flags: str) -> subprocess.CompletedProcess[str]:
    assert GCC is not None
    command = [*GCC.command, *GCC.flags, *flags, "-x", "c", "-", "-lm"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True)


def scalar_loops(text: str) -> list[str]:
    """The loops over elements, by their lines, that are not vectorised."""
    done = compiled(text, "-fopt-info-vec", "-o", "/dev/null")
    vectors = {int(n) for n in re.findall(r":(\d+):\d+: optimized: +loop vectorized", done.stderr)}
    lines = text.splitlines()
    loops = {i + 1 for i, line in enumerate(lines) if "j < v; j++" in line}
    return [lines[n - 1] + lines[n] for n in sorted(loops) if not {n, n + 1} & vectors]


@pytest.mark.parametrize(("formula", "shapes"), FORMULAS, ids=[f.__name__ for f, _ in FORMULAS])
def test_every_loop_is_vectorised(formula: Callable[..., Any], shapes: Any) -> None:
    for text in texts(formula, shapes):
        assert scalar_loops(text) == []
        assert "vmaskmov" not in compiled(text, "-S", "-o", "-").stdout  # a store under a mask takes ten times as long


def test_a_loop_that_cannot_be_is_found() -> None:
    text = texts(mish, ((900,),))[0]
    assert scalar_loops(text.replace("pb_exp_f32(x0)", "(float)rand()"))
