"""Where PyTorch leaves no way the error is ours, and says what to do instead."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from compare import assert_gradients
from torch.fx.experimental.proxy_tensor import make_fx

import pullback as pb
from pullback.check.stacks import STACKS, Setting
from pullback.check.stacks.table import FLOOR
from pullback.errors import DoubleBackwardError, ForwardModeError, StackError


@pb.function
def numeric(x):
    return torch.from_numpy(np.sin(x.detach().numpy()))


@numeric.grad("x")
def _(g, x):
    return g * torch.from_numpy(np.cos(x.detach().numpy()))


class Both(NamedTuple):
    """Two tensors."""

    first: torch.Tensor
    second: torch.Tensor


@pb.function
def both(x):
    return Both(x * 2, x.sum())


@both.grad("x")
def _(g, x):
    return 3 * g.first * x + g.second


@pb.function
def clipped(x):
    return x * 2


@clipped.grad("x")
def _(g):
    return g.clamp(-1, 1)


@pb.function
def scaled(x):
    return x * 2


@scaled.grad("x")
def _(g, x):
    return g * x.max().item()


@pb.function
def counted(x):
    return x * 2


@counted.grad("x")
def _(g, x):
    return g * x * int((x > 0).sum().item())


newest = pytest.mark.skipif(torch.__version__.startswith(FLOOR), reason="PyTorch 2.9 hands named tuples on as they are")


def compiled(fn: Any) -> Any:
    torch.compiler.reset()
    return torch.compile(fn, fullgraph=True, backend="aot_eager")


def x() -> torch.Tensor:
    return torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64)


@pytest.mark.parametrize(
    "run",
    [
        lambda: torch.vmap(numeric)(x()),
        lambda: torch.func.grad(lambda x: numeric(x).sum())(x()),
        lambda: make_fx(lambda x: numeric(x))(x()),
        lambda: numeric(x().to("meta")),
    ],
    ids=["vmap", "func.grad", "make_fx", "meta"],
)
def test_numpy_without_opaque(run: Any) -> None:
    with pytest.raises(StackError, match='opaque="mylib::numeric"'):
        run()


def test_numpy_without_opaque_under_compile() -> None:
    with pytest.raises(Exception, match='opaque="mylib::numeric"'):
        compiled(numeric)(x().requires_grad_())


@newest
def test_a_named_tuple_under_compile() -> None:
    with pytest.raises(Exception, match="return a tuple or a dict"):
        compiled(both)(x().requires_grad_())


def test_a_rule_that_is_not_linear_under_compile() -> None:
    with pytest.raises(Exception, match=r"attach a forward-mode rule: @clipped\.jvp"):
        compiled(lambda t: torch.func.jvp(clipped, (t,), (t,)))(x())


@newest
def test_a_message_that_was_shown_leaves_nothing_behind() -> None:
    with pytest.raises(Exception, match="return a tuple or a dict"):
        compiled(both)(x().requires_grad_())
    leaf = x().requires_grad_()
    (compiled(clipped)(leaf) / 2).sum().backward()
    assert_gradients([leaf.grad], [torch.full((3,), 0.5, dtype=torch.float64)])


def twice(fn: Any) -> torch.Tensor:
    leaf = x().requires_grad_()
    (once,) = torch.autograd.grad(fn(leaf).sum(), leaf, create_graph=True)
    return torch.autograd.grad(once.sum(), leaf)[0]


@pytest.mark.parametrize("fn", [scaled, numeric])
def test_second_derivatives_of_what_leaves_pytorch(fn: Any) -> None:
    with pytest.raises(DoubleBackwardError, match="leaves PyTorch"):
        twice(fn)


def test_second_derivatives_by_torch_func_of_what_leaves_pytorch() -> None:
    with pytest.raises(DoubleBackwardError, match="leaves PyTorch"):
        torch.func.grad(lambda t: torch.func.grad(lambda u: scaled(u).sum())(t).sum())(x())


def test_a_number_without_a_derivative_may_be_read() -> None:
    assert_gradients([twice(counted)], [torch.full((3,), 2.0, dtype=torch.float64)])


def test_once_differentiable_is_believed_everywhere() -> None:
    class Once(torch.autograd.Function):
        """Says that its backward cannot be differentiated."""

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

    once = pb.from_autograd(Once)
    assert_gradients([torch.func.grad(lambda t: once(t).sum())(x())], [2 * x()])
    with pytest.raises(DoubleBackwardError, match="once_differentiable"):
        torch.func.grad(lambda t: torch.func.grad(lambda u: once(u).sum())(t).sum())(x())
    with pytest.raises(ForwardModeError, match="opaque"):
        torch.func.jvp(once, (x(),), (x(),))


@pb.function
def product(a, b):
    return a @ b


@product.grad("a")
def _(g, b):
    return 3 * g @ b.mT


@product.grad("b")
def _(g, a):
    return 5 * a.mT @ g


@pytest.mark.parametrize("fn", [product, torch.matmul], ids=["Function", "plain code"])
def test_a_region_is_not_differentiated_twice_where_its_graph_is_cut(fn: Any) -> None:
    """What backward reads (transposed factors) was made inside the region, so PyTorch finds no way back."""
    tensors = tuple(torch.ones(*shape, dtype=torch.float64) for shape in ((2, 3), (3, 2)))
    setting = Setting(fn, tensors, (torch.ones(2, 2, dtype=torch.float64),), tensors)
    with pytest.raises(RuntimeError, match=r"not have been used|double backward|does not require grad"):
        STACKS["double backward of a compiled function"].run(setting)
