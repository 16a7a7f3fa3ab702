"""The way of CUDA, on the CPU: a plan's graphs compiled by torch.compile, numbers as inputs, conditions packed."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from compare import assert_gradients, assert_values
from kernel_rows import bent, clipped, mish, snake
from torch._dynamo import lookup_backend

import pullback as pb
from pullback.kernels import graphs
from pullback.kernels.way import READY, REFUSED

Tensors = list[torch.Tensor]


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is compiled, by all that Inductor does but to write code."""
    seen: list[str] = []

    def backend(module: Any, inputs: Any) -> Any:
        seen.append(module.code)
        return lookup_backend("aot_eager")(module, inputs)

    monkeypatch.setenv("PULLBACK_FUSE", "1")
    monkeypatch.setenv("PULLBACK_GRAPHS", "cpu")
    monkeypatch.setattr(graphs, "BACKEND", backend)
    torch._dynamo.reset()
    return seen


def states(fn: Any) -> list[str]:
    return [v.state for kinds in fn.__pullback__.graphs.values() for v in kinds.variants.values()]


def run(fn: Any, tensors: Tensors) -> Tensors:
    out = fn(*tensors)
    return [out, *torch.autograd.grad(out, [t for t in tensors if t.requires_grad], torch.cos(out.detach()))]


def assert_same(fn: Any, formula: Any, tensors: Tensors) -> None:
    wide = [t.detach().double().requires_grad_(t.requires_grad) for t in tensors]
    got, want = run(fn, tensors), [r.float() for r in run(formula, wide)]
    assert_values(got[:1], want[:1])
    assert_gradients(got[1:], want[1:])


SHAPES = {
    mish: [(37, 41)],
    snake: [(3, 5, 70), (5, 1)],
    clipped: [(2000,), (), ()],
    bent: [(40, 51)],
}


@pytest.mark.parametrize("formula", SHAPES, ids=lambda f: f.__name__)
def test_values_and_gradients(formula: Any) -> None:
    fused = pb.fuse(formula)
    tensors = [torch.rand(s).add(0.1).requires_grad_() for s in SHAPES[formula]]
    assert_same(fused, formula, tensors)
    assert states(fused) == [READY]
    assert not any(kinds.variants for kinds in fused.__pullback__.kernels.values())


def test_a_new_number_or_size_compiles_nothing_and_conditions_are_packed(compiled: list[str]) -> None:
    fused = pb.function(fuse=True)(lambda x, s=2.0: torch.where(x > 0, x * s, -x))
    for n, slope in ((3000, 3.0), (3000, 2.5), (4096, 0.5)):
        x = torch.randn(n, requires_grad=True)
        assert_same(lambda x, s=slope: fused(x, s), lambda x, s=slope: torch.where(x > 0, x * s, -x), [x])
        out = fused(x, slope)
        assert [(t.dtype, t.numel()) for t in out.grad_fn.saved_tensors] == [(torch.uint8, n // 8)]
    assert states(fused) == [READY]
    assert len(compiled) == 2


def test_second_derivatives_and_no_gradient() -> None:
    fused, x = pb.fuse(mish), torch.randn(50, requires_grad=True)

    def second(fn: Any) -> torch.Tensor:
        (first,) = torch.autograd.grad(fn(x).sum(), x, create_graph=True)
        return torch.autograd.grad((first * first).sum(), x)[0]

    assert_gradients([second(fused)], [second(mish)])
    with torch.no_grad():
        assert_values([fused(x)], [mish(x)])
    assert states(fused) == [READY, READY]


def test_a_backend_that_fails_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(module: Any, inputs: Any) -> Any:
        raise RuntimeError("no Triton here")

    monkeypatch.setattr(graphs, "BACKEND", fails)
    fused, x = pb.fuse(mish), torch.randn(50, requires_grad=True)
    assert_same(fused, mish, [x])
    assert states(fused) == [REFUSED]


def test_without_such_a_device_there_is_no_such_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PULLBACK_GRAPHS")
    fused, x = pb.fuse(mish), torch.randn(50, requires_grad=True)
    assert_same(fused, mish, [x])
    assert (states(fused), torch.cuda.is_available()) == ([], False) or torch.cuda.is_available()
