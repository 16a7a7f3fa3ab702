"""A kernel computes what PyTorch computes: in every layout, dtype and stack that reaches it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
import torch
from compare import assert_gradients, assert_values
from kernel_rows import ROWS, Row, bent, clipped, masked, mish, scaled, snake

import pullback as pb
from pullback.kernels.way import READY

Tensors = list[torch.Tensor]


def made(row: Row, dtype: torch.dtype = torch.float32) -> Tensors:
    torch.manual_seed(1)
    return [torch.randn(shape).to(dtype).requires_grad_() for shape in row.shapes]


def run(fn: Callable[..., Any], tensors: Tensors, g: torch.Tensor | None = None) -> Tensors:
    """The output and the gradients."""
    out = fn(*tensors)
    torch.manual_seed(2)
    g = torch.randn(out.shape, dtype=torch.float64) if g is None else g
    wanted = [t for t in tensors if t.requires_grad]
    return [out, *torch.autograd.grad(out, wanted, g.to(out.dtype))]


def exact(fn: Callable[..., Any], tensors: Tensors, g: torch.Tensor | None = None) -> Tensors:
    """The same by PyTorch in float64."""
    wide = [t.detach().double().requires_grad_(t.requires_grad) if t.is_floating_point() else t for t in tensors]
    dtype = next(t.dtype for t in tensors if t.is_floating_point())
    return [r.to(dtype) for r in run(fn, wide, g)]


def assert_same(fused: Tensors, reference: Tensors) -> None:
    assert_values(fused[:1], reference[:1])
    assert_gradients(fused[1:], reference[1:])


def serves(fn: Any) -> bool:
    """Whether a kernel has served every call of a Function so far."""
    return all(v.state == READY for kinds in fn.__pullback__.kernels.values() for v in kinds.variants.values())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_values_and_gradients(row: Row) -> None:
    fused = pb.fuse(row.formula)
    for dtype in (torch.float32, *row.also):
        tensors = made(row, dtype)
        assert_same(run(fused, tensors), exact(row.formula, tensors))
    assert serves(fused)


SUMS: dict[str, Callable[..., Any]] = {
    "all": lambda x: (x * x).sum(),
    "some": lambda x: (x * x).sum((0, 2)),
    "kept": lambda x: (x * x).sum((0, 2), keepdim=True),
    "then": lambda x: torch.exp(-(x * x).sum(1)),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_have_the_shape_that_they_are_written_with(name: str) -> None:
    for shape in ((4, 5, 6), (1, 5, 1)):
        fused, x = pb.function(fuse=True)(SUMS[name]), torch.randn(shape)
        assert_values([fused(x) for _ in range(2)], [SUMS[name](x)] * 2)
        if name == "all":
            x.requires_grad_()
            assert_same(run(fused, [x]), exact(SUMS[name], [x]))
        assert serves(fused)


LAYOUTS = {
    "transposed": lambda t: t.detach().t().contiguous().t() if t.dim() == 2 else t.detach(),
    "strided": lambda t: torch.stack([t.detach(), t.detach()], -1)[..., 0] if t.dim() else t.detach(),
    "reversed": lambda t: t.detach().flip(-1)[..., :] if t.dim() else t.detach(),
    "offset": lambda t: torch.cat([t.detach(), t.detach()], -1)[..., t.shape[-1] :] if t.dim() else t.detach(),
}


@pytest.mark.parametrize("formula", [mish, scaled, snake], ids=lambda f: f.__name__)
def test_layouts(formula: Callable[..., Any]) -> None:
    row = next(r for r in ROWS if r.formula is formula)
    fused = pb.fuse(formula)
    for change in LAYOUTS.values():
        tensors = [change(t).requires_grad_() for t in made(row)]
        assert_same(run(fused, tensors), exact(formula, tensors))


def test_an_expanded_cotangent_and_a_layout_that_is_kept() -> None:
    fused = pb.fuse(mish)
    x = torch.randn(4, 6, 8, 8).to(memory_format=torch.channels_last).requires_grad_()
    out = fused(x)
    assert out.stride() == x.stride()
    (gradient,) = torch.autograd.grad(out.sum(), x)
    assert gradient.stride() == x.stride()
    assert_gradients([gradient], [exact(mish, [x], torch.ones_like(x))[1]])


@pytest.mark.parametrize("n", [1000, 1024, 1031, 20005])
def test_conditions_are_kept_eight_to_a_byte(n: int) -> None:
    fused, bounds = pb.fuse(clipped), [torch.tensor(b, requires_grad=True) for b in (-0.5, 0.5)]
    for x in (torch.randn(n, 3), torch.randn(3, n).t()):
        for g in (torch.randn(n, 3), torch.randn(3, n).t(), torch.ones(()).expand(n, 3)):  # layouts of their own
            tensors = [x.detach().requires_grad_(), *bounds]
            assert_same(run(fused, tensors, g), exact(clipped, tensors, g))
        out = fused(*tensors)
        kept = out.grad_fn.saved_tensors
        assert sum(t.numel() * t.element_size() for t in kept) in (2 * n * 3, 2 * ((n * 3 + 7) // 8))
    single = torch.randn(n, 3, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(pb.fuse(bent)(single).sum(), single, create_graph=True)
    assert_gradients([first.detach()], exact(bent, [single], torch.ones_like(single))[1:])


def test_single_elements_of_more_dimensions() -> None:
    tensors = [torch.randn(70, requires_grad=True), torch.rand(1, 1, 1).requires_grad_()]
    fused = pb.fuse(scaled)
    assert fused(*tensors).shape == (1, 1, 70)
    assert_same(run(fused, tensors), exact(scaled, tensors))


def test_masks_whole_numbers_and_frozen_arguments() -> None:
    x, mask, count = torch.randn(300, requires_grad=True), torch.rand(300) > 0.5, torch.arange(300)
    assert_same(run(pb.fuse(masked), [x, mask, count]), exact(masked, [x, mask, count]))
    low, high = torch.tensor(-0.5), torch.tensor(0.5, requires_grad=True)
    assert_same(run(pb.fuse(clipped), [x, low, high]), exact(clipped, [x, low, high]))


SPECIAL = torch.tensor([0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1e-40, -1e-40, 3e38, -3e38, 1.0] * 3)
UNARY = ["sin", "sqrt", "round", "sign", "sigmoid", "relu"]  # test_maths has the others


def test_special_values_are_pytorchs() -> None:
    for name in UNARY:
        text = f"lambda x: torch.{name}(x)"
        fused = pb.fuse(eval(text))
        with torch.no_grad():
            got, want = fused(SPECIAL), getattr(torch, name)(SPECIAL)
        assert_values([got], [want])
        zeros = want == 0
        assert torch.equal(torch.signbit(got[zeros]), torch.signbit(want[zeros])), name


@pytest.mark.parametrize("name", ["pow", "maximum", "fmin"])  # the others are made in the same way
def test_special_pairs_are_pytorchs(name: str) -> None:
    values = torch.cat([SPECIAL[:10], -SPECIAL[9:10], torch.tensor([0.5, -0.5, 2.0, 3.0, -3.0])])
    fused, eager = pb.fuse(eval(f"lambda a, b: torch.{name}(a, b)")), getattr(torch, name)
    a, b = values.repeat_interleave(len(values)), values.repeat(len(values))
    with torch.no_grad():
        for other in (b, *values):  # full, or the same for all
            got, want = fused(a, other), eager(a, other)
            assert_values([got], [want])
            zeros = want == 0
            assert torch.equal(torch.signbit(got[zeros]), torch.signbit(want[zeros])) or name == "fmin"


def test_sums_do_not_depend_on_threads() -> None:
    row = Row("scaled", scaled, ((4096, 33), (33,)))
    fused, tensors, before = pb.fuse(scaled), made(row), torch.get_num_threads()
    results = []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            results.append(run(fused, tensors))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for other in results[1:] for a, b in zip(results[0], other, strict=True))
    assert_same(results[0], exact(scaled, tensors))


def test_a_second_derivative_is_pytorchs() -> None:
    def second(fn: Callable[..., Any], x: torch.Tensor) -> torch.Tensor:
        (first,) = torch.autograd.grad(fn(x).sum(), x, create_graph=True)
        return torch.autograd.grad((first * first).sum(), x)[0]

    x = torch.randn(200, dtype=torch.float64, requires_grad=True)
    x.data[0] = 0.0
    for formula in (mish, bent, lambda x: x - torch.nn.functional.logsigmoid(x)):
        assert_gradients([second(pb.fuse(formula), x)], [second(formula, x)])


def test_batched_cotangents() -> None:
    x = torch.randn(5, requires_grad=True)
    out = pb.fuse(mish)(x)
    (rows,) = torch.autograd.grad(out, x, torch.eye(5), is_grads_batched=True)
    assert_gradients([rows.diagonal()], exact(mish, [x], torch.ones(5))[1:])


def test_whole_numbers_that_a_tracer_takes_as_they_are() -> None:
    fused, x = pb.fuse(lambda self, n: torch.tanh(self) * (n + 2)), torch.randn(9, requires_grad=True)
    for n in (0, 1):
        assert_gradients(torch.autograd.grad(fused(x, n).sum(), x), [(1 - torch.tanh(x.detach()) ** 2) * (n + 2)])
    assert serves(fused)


def test_the_name_and_what_is_kept() -> None:
    fused = pb.fuse(mish)
    x = torch.randn(50, requires_grad=True)
    out = fused(x)
    assert type(out.grad_fn).__name__ == "mishBackward"
    assert [t.data_ptr() for t in out.grad_fn.saved_tensors] == [x.data_ptr()]


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_large_arguments_of_sine(name: str) -> None:
    x = torch.tensor([5.0, 131073.0, 2e5, 1e7, 1e9, 2e9, 3e10, -7e20, 3e38, float("inf")] * 5, dtype=torch.float32)
    with torch.no_grad():
        assert_values([pb.fuse(eval(f"lambda x: torch.{name}(x)"))(x)], [getattr(torch, name)(x.double()).float()])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_forked_child_computes() -> None:
    fused, x = pb.fuse(mish), torch.randn(40000)
    with torch.no_grad():
        want = fused(x)
        child = os.fork()
        if child == 0:
            os._exit(0 if torch.equal(fused(x)[:100], want[:100]) else 1)  # PyTorch's own threads do not live here
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_an_empty_or_foreign_tensor_runs_eagerly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULLBACK_FUSE", "1")
    fused = pb.fuse(mish)
    assert fused(torch.zeros(0, 3)).shape == (0, 3)
    assert fused(torch.zeros(3, device="meta")).device.type == "meta"
    negative = torch.complex(torch.zeros(4), torch.arange(4.0)).conj().imag
    assert negative.is_neg()
    assert_values([fused(negative)], [mish(negative)])
