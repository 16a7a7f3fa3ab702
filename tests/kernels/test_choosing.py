"""When kernels serve, when the eager rules do, and that nothing they depend on is ever stale."""

from __future__ import annotations

import logging
import types
from typing import Any

import pytest
import torch
from compare import assert_gradients

import pullback as pb
from pullback.errors import DefinitionError, KernelError
from pullback.kernels import background
from pullback.kernels.way import READY, REFUSED

slope = 2.0
settings = types.SimpleNamespace(slope=2.0)


def variants(fn: Any) -> list[Any]:
    return [v for kinds in fn.__pullback__.kernels.values() for v in kinds.variants.values()]


def by_argument():
    @pb.function
    def spike(x, slope=2.0):
        return (x > 0).to(x.dtype)

    @spike.grad("x")
    def _(g, x, slope):
        return g * slope / (1 + slope * x.abs()) ** 2

    return spike


def by_global():
    @pb.function
    def spike(x):
        return (x > 0).to(x.dtype)

    @spike.grad("x")
    def _(g, x):
        return g * slope / (1 + slope * x.abs()) ** 2

    return spike


def by_attribute():
    @pb.function
    def spike(x):
        return (x > 0).to(x.dtype)

    @spike.grad("x")
    def _(g, x):
        return g * settings.slope / (1 + settings.slope * x.abs()) ** 2

    return spike


@pytest.mark.parametrize("how", ["argument", "global", "attribute"])
@pytest.mark.parametrize("mode", ["1", "auto"])
def test_an_annealed_slope_is_never_stale(how: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULLBACK_FUSE", mode)
    spike = {"argument": by_argument, "global": by_global, "attribute": by_attribute}[how]()
    x = torch.randn(5000, requires_grad=True)
    for step in range(6):
        now = 2.0 + step
        monkeypatch.setitem(globals(), "slope", now)
        monkeypatch.setattr(settings, "slope", now)
        for _ in range(2):
            out = spike(x, now) if how == "argument" else spike(x)
            (gradient,) = torch.autograd.grad(out.sum(), x)
            assert_gradients([gradient], [now / (1 + now * x.abs()) ** 2])
        background.wait()


def test_a_new_number_or_shape_needs_no_new_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULLBACK_FUSE", "require")
    spike = by_argument()
    for n, now in ((10, 1.0), (2000, 1.5), (31, 2.5)):
        x = torch.randn(n, requires_grad=True)
        (gradient,) = torch.autograd.grad(spike(x, now).sum(), x)
        assert_gradients([gradient], [now / (1 + now * x.abs()) ** 2])
    assert [v.state for v in variants(spike)] == [READY]


def reads_a_list(x):
    return x * values[0]


def draws(x):
    return x * torch.rand_like(x)


def adds_up(x):
    return torch.cumsum(x, 0)


def sorts(x):
    return torch.softmax(x, -1)


def decides(x):
    return x * 2 if x.shape[0] > 5 else x


values = [2.0]


@pytest.mark.parametrize(
    ("fn", "reason"),
    [(reads_a_list, "values"), (draws, "random"), (adds_up, "cumsum"), (sorts, "softmax"), (decides, "sizes")],
)
def test_what_no_kernel_can_serve(fn: Any, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULLBACK_FUSE", "require")
    with pytest.raises(KernelError, match=reason):
        pb.fuse(fn)(torch.rand(9, requires_grad=True))
    monkeypatch.setenv("PULLBACK_FUSE", "1")
    eager = pb.fuse(fn)
    x = torch.rand(9, requires_grad=True)
    torch.manual_seed(3)
    got = eager(x)
    torch.manual_seed(3)
    assert torch.equal(got, fn(x))


@pytest.mark.parametrize(("keep", "reason"), [("small", "off the output"), ("named", "what the rules name")])
def test_what_is_to_be_kept_is_kept(keep: str, reason: str) -> None:
    silu = pb.function(keep=keep)(lambda x: x * torch.sigmoid(x))
    with pytest.raises(KernelError, match=reason):
        silu(torch.rand(2000, requires_grad=True))


def test_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randn(9, requires_grad=True)
    off = pb.function(fuse=False)(lambda x: x * torch.exp(x))
    off(x)
    assert variants(off) == []
    monkeypatch.setenv("PULLBACK_FUSE", "0")
    for fn in (pb.function(fuse=True)(lambda x: x * torch.exp(x)), pb.fuse(lambda x: x * 2)):
        fn(x)
        assert variants(fn) == []
    with pytest.raises(DefinitionError, match="fuse="):
        pb.function(fuse="yes")(lambda x: x)


def test_in_the_background_nothing_waits_and_nothing_warns(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PULLBACK_FUSE", "auto")
    fused, x = pb.fuse(lambda x: torch.exp(-x * x)), torch.randn(10000, requires_grad=True)
    with caplog.at_level(logging.INFO, "pullback"):
        for _ in range(4):
            fused(x)
            background.wait()
    assert [v.state for v in variants(fused)] == [READY]
    assert all(record.levelno <= logging.INFO for record in caplog.records)


def test_a_small_tensor_of_a_plain_formula_is_left_to_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULLBACK_FUSE", "auto")
    fused = pb.fuse(lambda x: x * torch.exp(x))
    x = torch.randn(16, requires_grad=True)
    for _ in range(2):
        out = fused(x)
    assert type(out.grad_fn).__name__ == "MulBackward0"
    (gradient,) = torch.autograd.grad(out.sum(), x)
    assert_gradients([gradient], [(1 + x) * torch.exp(x)])


@pytest.mark.parametrize("mode", ["auto", "require"])
def test_a_checkpoint_sees_the_same_tensors_before_and_after(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULLBACK_FUSE", mode)
    fused, x = pb.fuse(lambda x: torch.exp(-x * torch.abs(x))), torch.randn(10000, requires_grad=True)
    for _ in range(3):
        out = torch.utils.checkpoint.checkpoint(fused, x, use_reentrant=False)
        fused(x)
        background.wait()
        (gradient,) = torch.autograd.grad(out.sum(), x)
    assert_gradients([gradient], [-2 * torch.abs(x) * torch.exp(-x * torch.abs(x))])


def test_a_compiler_that_fails_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from pullback.kernels import compile as compiling

    monkeypatch.setenv("PULLBACK_FUSE", "1")
    monkeypatch.setattr(compiling.Compiler, "compile", _fails)
    fused, x = pb.fuse(lambda x: torch.exp(-3 * x)), torch.randn(9, requires_grad=True)
    (gradient,) = torch.autograd.grad(fused(x).sum(), x)
    assert_gradients([gradient], [-3 * torch.exp(-3 * x)])
    assert [v.state for v in variants(fused)] == [REFUSED]


def _fails(self: Any, text: str, path: Any) -> None:
    from pullback.kernels.compile import CompileError

    raise CompileError("internal compiler error")


def test_describe_says_which_way_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULLBACK_FUSE", "1")
    x = torch.randn(5000, requires_grad=True)
    fused = pb.fuse(lambda x: torch.relu(x) * 2)
    fused(x)
    told = fused.describe(x)
    assert (told.path, told.bytes) == ("kernel", 625)
    assert all("pb_kernel(" in text for text in told.kernels)
    assert len(told.kernels) == 2
    eager = pb.fuse(reads_a_list)
    assert "'values" in str(eager.describe(x))


U8, I32 = torch.tensor([200, 7], dtype=torch.uint8), torch.tensor([2**30, 1], dtype=torch.int32)
ROUNDED = {
    "uint8 wraps": (lambda x, n: x * (n + n), U8, "uint8"),
    "int32 wraps": (lambda x, n: x * (n * 4 + 1), I32, "int32"),
    "a literal is rounded to the tensor's type": (
        lambda x, n: torch.where(n > 0.1, x, -x), torch.tensor([0.1, 1.0], dtype=torch.bfloat16), "round"),
    "a bound that is NaN": (lambda x, n: torch.clamp(x, float("nan"), 1.0) * n, torch.ones(2), "NaN"),
    "floor division": (lambda x, n: x * torch.div(n, 0.1, rounding_mode="floor"), torch.ones(2), "remainder"),
}  # fmt: skip


@pytest.mark.parametrize(("fn", "other", "reason"), ROUNDED.values(), ids=ROUNDED)
def test_what_kernels_would_round_otherwise(fn: Any, other: Any, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULLBACK_FUSE", "require")
    x = torch.ones(600, 2, requires_grad=True)
    with pytest.raises(KernelError, match=reason):
        pb.function(fn)(x, other)
    monkeypatch.setenv("PULLBACK_FUSE", "1")
    assert torch.equal(pb.function(fn)(x, other).nan_to_num(9.0), fn(x, other).nan_to_num(9.0))


@pytest.mark.parametrize("compare", [torch.maximum, lambda x, s: torch.where(x >= s, x, -x)], ids=["maximum", "where"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_wider_number_in_a_tensor_is_rounded_before_it_is_compared(compare: Any, dtype: torch.dtype) -> None:
    x, s = torch.rand(700).to(dtype), torch.tensor(0.0, dtype=torch.float64)
    s = s + x[0] + 1e-9
    fused, found = pb.fuse(lambda x, s: compare(x, s)), []
    for fn in (compare, fused):
        a = x.clone().requires_grad_()
        out = fn(a, s)
        found.append((out, *torch.autograd.grad(out, a, torch.ones_like(out))))
    assert all(torch.equal(got, want) for got, want in zip(*found, strict=True))
