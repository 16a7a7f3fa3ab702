"""The node in C++ does what a Python autograd.Function does, and leaves to Python what it must."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from compare import assert_gradients, assert_values
from kernel_rows import ROWS, Row, mish, scaled
from torch.utils._python_dispatch import TorchDispatchMode

import pullback as pb
from pullback.kernels import native

pytestmark = pytest.mark.usefixtures("node")


def settled(fn: Any, *args: Any) -> Any:
    """A Function whose calls like this one are known to the node: the first ones teach it."""
    for _ in range(3):
        out = fn(*args)
    assert not hasattr(type(out.grad_fn), "_forward_cls"), "a Python autograd.Function has served"
    return fn


def gradients(fn: Callable[..., Any], tensors: list[torch.Tensor], g: torch.Tensor | None = None) -> list[torch.Tensor]:
    out = fn(*tensors)
    g = torch.ones_like(out) if g is None else g
    return [out, *torch.autograd.grad(out, [t for t in tensors if t.requires_grad], g)]


def assert_as_written(fn: Any, formula: Any, tensors: list[torch.Tensor], g: torch.Tensor | None = None) -> None:
    wide = [t.detach().double().requires_grad_(t.requires_grad) for t in tensors]
    got, want = gradients(fn, tensors, g), gradients(formula, wide, g if g is None else g.double())
    dtype = tensors[0].dtype
    assert_values(got[:1], [want[0].to(dtype)])
    assert_gradients(got[1:], [w.to(dtype) for w in want[1:]])


@pytest.fixture
def x() -> torch.Tensor:
    return torch.randn(16, requires_grad=True)


@pytest.fixture
def fused(x: torch.Tensor) -> Any:
    return settled(pb.fuse(mish), x)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_values_and_gradients(row: Row) -> None:
    for dtype in (torch.float32, *row.also):
        for single in (False, True):
            most = 1 if single else 1000  # conditions of more elements are packed in Python
            shapes = [tuple(min(n, most) for n in s) for s in row.shapes]
            tensors = [torch.rand(s).add(0.2).to(dtype).requires_grad_() for s in shapes]
            assert_as_written(settled(pb.fuse(row.formula), *tensors), row.formula, tensors)


def test_layouts_numbers_and_cotangents() -> None:
    for change in (lambda t: t.t(), lambda t: t[::2], lambda t: t.flip(0), lambda t: t[:, :1].expand(8, 6)):
        wide = change(torch.randn(8, 6)).requires_grad_()
        tensors = [wide, torch.rand(wide.shape[1], requires_grad=True)]
        fn = settled(pb.fuse(scaled), *tensors)
        assert_as_written(fn, scaled, tensors)
        assert_as_written(fn, scaled, tensors, torch.randn(()).expand(fn(*tensors).shape))
    fn, x = pb.function(fuse=True)(lambda x, s=2.0: x * torch.sigmoid(s * x)), torch.randn(9, requires_grad=True)
    for slope in (3.0, 3.0, 3.0, 5.0, 2.0):
        assert_as_written(lambda x, s=slope: fn(x, s), lambda x, s=slope: x * torch.sigmoid(s * x), [x])
    assert_as_written(settled(fn, x), lambda x: x * torch.sigmoid(2.0 * x), [x])


def test_only_what_is_asked_for() -> None:
    gate = pb.fuse(lambda a, b: F.silu(a) * b)
    a, b = torch.randn(9), torch.randn(9, requires_grad=True)
    settled(gate, a, b)
    assert gate(a, b).grad_fn.next_functions[0] == (None, 0)
    assert_as_written(gate, lambda a, b: F.silu(a) * b, [a, b])
    with torch.no_grad():
        assert not [gate(a, b) for _ in range(3)][-1].requires_grad
    with torch.inference_mode():
        assert [gate(a, b) for _ in range(3)][-1].is_inference()


def test_what_is_kept_and_how_it_is_called(fused: Any, x: torch.Tensor) -> None:
    out = fused(x)
    assert type(out.grad_fn).__name__ == out.grad_fn.name() == "mishBackward"
    assert [t.data_ptr() for t in out.grad_fn.saved_tensors] == [x.data_ptr()]
    assert "C++" in str(fused.describe(x))
    seen: list[str] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (seen.append("pack"), t.double())[1], lambda t: t.float()):
        hooked = fused(x)
    assert_gradients(gradients(lambda _: hooked, [x])[1:], gradients(mish, [x])[1:])
    assert seen == ["pack"]
    seen.clear()
    out.grad_fn.register_hook(lambda *_: seen.append("node"))
    out.register_hook(lambda _: seen.append("tensor"))
    out.sum().backward()
    assert seen == ["tensor", "node"]


def test_what_autograd_forbids(fused: Any, x: torch.Tensor) -> None:
    out = fused(x)
    out.sum().backward(retain_graph=True)
    out.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        out.sum().backward()
    changed = x * 1
    out = fused(changed)
    changed.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()
    root = settled(pb.fuse(lambda x: torch.sqrt(x) * x), x.detach().abs().requires_grad_())
    with (
        pytest.warns(UserWarning, match="."),
        torch.autograd.detect_anomaly(),
        pytest.raises(RuntimeError, match="Backward' ret"),
    ):
        root(torch.full((16,), -1.0, requires_grad=True)).sum().backward()


def second(fn: Any, x: torch.Tensor) -> torch.Tensor:
    (first,) = torch.autograd.grad(fn(x).sum(), x, create_graph=True)
    return torch.autograd.grad((first * first).sum(), x)[0]


class Seen(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


STACKS: dict[str, Callable[[Any, torch.Tensor], Any]] = {
    "second derivative": second,
    "func.grad": lambda fn, x: torch.func.grad(lambda t: fn(t).sum())(x),
    "func.jvp": lambda fn, x: torch.func.jvp(fn, (x,), (torch.ones_like(x),))[1],
    "vmap": lambda fn, x: torch.vmap(fn)(x.view(4, 4)),
    "batched cotangents": lambda fn, x: torch.autograd.grad(fn(x), x, torch.eye(16), is_grads_batched=True)[0],
    "checkpoint": lambda fn, x: gradients(lambda t: torch.utils.checkpoint.checkpoint(fn, t, use_reentrant=False), [x])[
        1
    ],
    "compile": lambda fn, x: gradients(torch.compile(fn, backend="aot_eager"), [x])[1],
    "a parameter": lambda fn, x: [gradients(fn, [torch.nn.Parameter(x.detach())])[1] for _ in range(3)][-1],
    "a subclass": lambda fn, x: fn(x.detach().as_subclass(Plain)).as_subclass(torch.Tensor),
    "autocast": lambda fn, x: under_autocast(fn, x),
}


class Plain(torch.Tensor):
    pass


def under_autocast(fn: Any, x: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return fn(x)


@pytest.mark.parametrize("stack", STACKS)
def test_stacks(stack: str, fused: Any, x: torch.Tensor) -> None:
    assert_gradients([STACKS[stack](fused, x)], [STACKS[stack](mish, x)])


def test_a_mode_sees_the_operations(fused: Any, x: torch.Tensor) -> None:
    out = fused(x).sum()
    with Seen() as backward:
        out.backward()
    with Seen() as forward:
        fused(x)
    assert "aten.mul.Tensor" in forward.names
    assert "aten.mul.Tensor" in backward.names


def test_a_compiled_backward_pass(fused: Any, x: torch.Tensor) -> None:
    from pullback._torch import compiled_autograd

    for seed in range(2):
        torch.manual_seed(seed)
        g = torch.randn(16)
        with compiled_autograd(lambda module: module):
            got = gradients(fused, [x], g)[1:]
        assert_gradients(got, gradients(mish, [x], g)[1:])


def test_threads_and_many_elements() -> None:
    big = torch.randn(2_200_000, requires_grad=True)  # more than is allocated without asking Python
    fused = settled(pb.fuse(mish), big)
    small = big.detach()[:20000].clone().requires_grad_()
    settled(fused, small)
    assert_as_written(fused, mish, [big])
    want, wrong = gradients(fused, [small])[1], []

    def work() -> None:
        for _ in range(10):
            if not torch.equal(gradients(fused, [small])[1], want):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    child = os.fork()
    if child == 0:
        os._exit(0 if torch.equal(fused(small), fused(small)) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_function_that_nobody_uses_goes(x: torch.Tensor) -> None:
    fused = settled(pb.fuse(lambda x: x * torch.exp(x)), x)
    out, alive = fused(x), weakref.ref(fused.__pullback__)
    del fused
    gc.collect()
    assert_gradients([torch.autograd.grad(out.sum(), x)[0]], [(1 + x) * torch.exp(x)])
    del out
    settled(pb.fuse(mish), x)  # lets go of what nodes have left
    gc.collect()
    assert alive() is None


def test_what_changes_is_never_stale(monkeypatch: pytest.MonkeyPatch, x: torch.Tensor) -> None:
    fn = settled(pb.function(fuse=True)(by_global), x)
    for now in (2.0, 3.0, 3, 2.0):
        monkeypatch.setitem(globals(), "slope", now)
        assert_as_written(fn, lambda x, now=now: x * torch.sigmoid(now * x), [x])

    @fn.grad("x")
    def _(g):
        return 7 * g

    settled(fn, x)
    assert_gradients(gradients(fn, [x])[1:], [torch.full((16,), 7.0)])
    whole = pb.function(fuse=True)(lambda x, n: x**n)
    for n in (2, 2, 2, 3, 3, 3, 2):
        assert_gradients(gradients(lambda x, n=n: whole(x, n), [x])[1:], [n * x ** (n - 1)])


slope = 2.0


def by_global(x):
    return x * torch.sigmoid(slope * x)


def test_without_a_compiler_or_switched_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(native, "LOADED", [])
    monkeypatch.setenv("PULLBACK_CACHE_DIR", str(tmp_path / "empty"))
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert not native.wait()
    monkeypatch.setenv("PULLBACK_NODE", "0")
    assert not native.wait()
    assert not native.LOADED
