"""Functions with several outputs run as one kernel each way, by the node in C++ and without it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from compare import assert_gradients, assert_values

import pullback as pb


@pytest.fixture(params=["node", "ctypes"], autouse=True)
def path(request: pytest.FixtureRequest) -> str:
    if request.param == "node":
        request.getfixturevalue("node")
    request.getfixturevalue("monkeypatch").setenv("PULLBACK_FUSE", "1")
    return str(request.param)


def sincos(x):
    return torch.sin(x), torch.cos(x)


def alone(x):
    return (x * torch.exp(-x),)


def masked(x, low):
    return torch.where(x > low, x * x, -x), x > low, torch.relu(x)


def gated(x, scale):
    gate = torch.sigmoid(scale * x)
    return x * gate, gate


def with_a_sum(x):
    return torch.sin(x), (x * x).sum()


def of_two_types(x, y):
    return x * x, torch.exp(y)


def polar(radius, angle):
    return radius * torch.cos(angle), radius * torch.sin(angle)


def ruled() -> Any:
    made = pb.function(fuse=True)(polar)

    @made.grad("radius", "angle")
    def _(g, radius, angle, out):
        (gx, gy), (x, y) = g, out
        return gx * torch.cos(angle) + gy * torch.sin(angle), gy * x - gx * y

    return made


def fused(formula: Callable[..., Any]) -> Any:
    return ruled() if formula is polar else pb.function(fuse=True)(formula)


SHAPES: dict[Callable[..., Any], list[tuple[int, ...]]] = {
    sincos: [(40, 41)],
    alone: [(17,)],
    masked: [(40, 41), ()],
    gated: [(4, 5, 6), (5, 1)],
    with_a_sum: [(1, 1500)],
    of_two_types: [(30,), (30,)],
    polar: [(16,), (16,)],
}


def tensors(formula: Callable[..., Any]) -> list[torch.Tensor]:
    dtypes = (torch.float32, torch.float64 if formula is of_two_types else torch.float32)
    return [(torch.randn(s, dtype=t) + 0.3).requires_grad_() for s, t in zip(SHAPES[formula], dtypes)]


def gradients(fn: Any, given: list[torch.Tensor], used: list[int]) -> list[torch.Tensor]:
    outs = fn(*given)
    outs = [outs[i] for i in used if outs[i].requires_grad]
    generator = torch.Generator().manual_seed(1)
    gs = [torch.randn(o.shape, dtype=torch.float64, generator=generator).to(o.dtype) for o in outs]
    return list(torch.autograd.grad(outs, given, gs, materialize_grads=True, allow_unused=True))


def served(fn: Any, given: list[torch.Tensor], path: str) -> Any:
    for _ in range(3):
        out = fn(*given)
    assert fn.describe(*given).path == "kernel"
    assert hasattr(type(out[0].grad_fn), "_forward_cls") is (path == "ctypes")
    return fn


@pytest.mark.parametrize("formula", SHAPES, ids=lambda f: f.__name__)
def test_values_and_gradients(formula: Callable[..., Any], path: str) -> None:
    given = tensors(formula)
    wide = [t.detach().double().requires_grad_() for t in given]
    fn = served(fused(formula), given, path)
    got, want = fn(*given), formula(*wide)
    assert type(got) is tuple
    assert [o.requires_grad for o in got] == [o.requires_grad for o in want]
    assert_values(list(got), [w.to(o.dtype) for o, w in zip(got, want, strict=True)])
    with torch.no_grad():
        for again in [fn(*given) for _ in range(3)]:
            assert all(map(torch.equal, again, got))
    smooth = [i for i, o in enumerate(got) if o.requires_grad]
    for used in ([i] if i >= 0 else smooth for i in (-1, *smooth)):
        expected = [w.to(t.dtype) for w, t in zip(gradients(formula, wide, used), given, strict=True)]
        assert_gradients(gradients(fn, given, used), expected)


def test_the_structure_may_depend_on_an_argument(path: str) -> None:
    def several(x, how):
        if how == "one":
            return 2 * x
        return {"two": (2 * x, 3 * x), "alone": (2 * x,), "dict": {"a": 2 * x, "b": 3 * x}}[how]

    fn, x = pb.function(fuse=True)(several), torch.randn(9, requires_grad=True)
    for how in ("two", "one", "alone", "dict", "two", "one", "alone", "one", "dict", "two"):
        out, want = fn(x, how), several(x, how)
        assert type(out) is type(want)
        outs = [out] if how == "one" else list(out.values() if how == "dict" else out)
        slope = 5.0 if how in ("two", "dict") else 2.0
        assert_gradients(torch.autograd.grad([o.sum() for o in outs], x), [torch.full((9,), slope)])


def test_nothing_holds_itself(path: str) -> None:
    x = torch.rand(30, requires_grad=True)
    fn = served(pb.function(fuse=True)(lambda x: (3 * x, torch.exp(x))), [x], path)
    gc.collect()
    gc.disable()
    try:
        outs = fn(x)
        assert [t.data_ptr() for t in outs[0].grad_fn.saved_tensors] == [outs[1].data_ptr()]
        alive = weakref.ref(outs[1])
        del outs
        assert alive() is None
    finally:
        gc.enable()


def test_what_autograd_asks(path: str) -> None:
    x = torch.randn(16, requires_grad=True)
    fn = served(pb.function(fuse=True)(sincos), [x], path)
    sine, cosine = fn(x)
    assert (sine.output_nr, cosine.output_nr) == (0, 1)
    assert sine.grad_fn is cosine.grad_fn
    (first,) = torch.autograd.grad(sine.sum(), x, create_graph=True)
    assert_gradients([torch.autograd.grad(first.sum(), x)[0]], [-x.sin()])
    assert_gradients([torch.func.grad(lambda t: (fn(t)[0] * fn(t)[1]).sum())(x)], [torch.cos(2 * x)])
    rows = torch.autograd.grad(fn(x)[1], x, torch.eye(16), is_grads_batched=True)[0]
    assert_gradients([rows], [torch.diag(-x.sin())])


def test_a_compiled_backward_pass_with_an_output_that_nobody_used(path: str) -> None:
    from pullback._torch import compiled_autograd

    x = torch.randn(16, requires_grad=True)
    fn = served(pb.function(fuse=True)(sincos), [x], path)
    with compiled_autograd(lambda module: module):
        (got,) = torch.autograd.grad(fn(x)[1].sum(), x)
    assert_gradients([got], [-x.sin()])


def test_an_output_that_is_an_argument_is_not_copied() -> None:
    for formula in (lambda x: x, lambda x: (torch.sin(x), x)):
        fn, x = pb.function(fuse=True)(formula), torch.randn(16, requires_grad=True)
        outs = [fn(x) for _ in range(3)][-1]
        assert (outs[1] if isinstance(outs, tuple) else outs).data_ptr() == x.data_ptr()
        assert "as it is" in str(fn.describe(x))


@pb.function(fuse=True)
def odd(x):
    return x * x


@odd.grad("x")
def _(g, x):
    return 7 * g


@pb.function(fuse=True)
def cubed(x):
    return x**3


@cubed.grad("x")
def _(g, x):
    return 3 * g * odd(x)


@pytest.mark.parametrize("formula", [cubed, pb.function(fuse=True)(lambda x: 2 * cubed(x))], ids=["rule", "below"])
def test_second_derivatives_go_by_the_rules_that_rules_call(formula: Any) -> None:
    """Those of `odd`, whose rule says 7 where the derivative is 2·x."""
    for n in (16, 2000):
        x = torch.randn(n, requires_grad=True)
        for _ in range(4):
            (first,) = torch.autograd.grad(formula(x).sum(), x, create_graph=True)
            (second,) = torch.autograd.grad(first.sum(), x)
        assert formula.describe(x).path == "kernel"
        factor = 1 if formula is cubed else 2
        assert_gradients([first, second], [factor * 3 * x**2, factor * torch.full_like(x, 21.0)])
