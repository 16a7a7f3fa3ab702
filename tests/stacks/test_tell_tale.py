"""A rule that is not the derivative shows which stack uses it: all in this table must give the rule's gradient."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.autograd.forward_ad as forward_ad
from compare import assert_gradients
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.checkpoint import checkpoint

import pullback as pb

Pair = tuple[torch.Tensor, torch.Tensor]
STACKS: dict[str, Callable[[torch.Tensor, torch.Tensor], Pair]] = {}


@pb.function
def tell(x, w, k=2.0):
    """Its gradients are 3·w·k and 5·x: linear, and nothing like the derivative."""
    return torch.tanh(x * w) * k


@tell.grad("x")
def _(g, w, k):
    return 3 * g * w * k


@tell.grad("w")
def _(g, x):
    return 5 * g * x


def stack(name: str) -> Callable[[Any], Any]:
    """Enter a way of getting both gradients into the table."""

    def enter(fn: Any) -> Any:
        STACKS[name] = fn
        return fn

    return enter


def total(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return tell(x, w).sum()


def compiled(fn: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    torch._dynamo.reset()
    return torch.compile(fn, fullgraph=True, backend="aot_eager", **options)


def pulled(fn: Callable[..., Any], x: torch.Tensor, w: torch.Tensor) -> Pair:
    return torch.autograd.grad(fn(x, w).sum(), (x, w))  # type: ignore[return-value]


def diagonals(jacobians: Pair) -> Pair:
    return jacobians[0].diagonal(), jacobians[1].diagonal()


class Layer(torch.nn.Module):
    """A module around the Function, for export."""

    def __init__(self, w: torch.Tensor) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(w.detach().clone())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return tell(x, self.w)


stack("eager")(lambda x, w: pulled(tell, x, w))
stack("func.grad")(lambda x, w: torch.func.grad(total, (0, 1))(x, w))
stack("func.jacrev")(lambda x, w: diagonals(torch.func.jacrev(tell, (0, 1))(x, w)))
stack("func.jacfwd")(lambda x, w: diagonals(torch.func.jacfwd(tell, (0, 1))(x, w)))
stack("vmap")(lambda x, w: pulled(torch.vmap(lambda x, w: tell(x, w)), x, w))
stack("vmap of grad")(lambda x, w: torch.vmap(torch.func.grad(total, (0, 1)))(x, w))
stack("checkpoint")(lambda x, w: pulled(lambda x, w: checkpoint(tell, x, w, use_reentrant=False), x, w))
stack("compile")(lambda x, w: pulled(compiled(tell), x, w))
stack("compile, dynamic shapes")(lambda x, w: pulled(compiled(tell, dynamic=True), x, w))
stack("compile of func.grad")(lambda x, w: compiled(torch.func.grad(total, (0, 1)))(x.detach(), w.detach()))
stack("compile of func.jacrev")(
    lambda x, w: diagonals(compiled(torch.func.jacrev(tell, (0, 1)))(x.detach(), w.detach()))
)
stack("compile of func.jacfwd")(
    lambda x, w: diagonals(compiled(torch.func.jacfwd(tell, (0, 1)))(x.detach(), w.detach()))
)
stack("compile of vmap")(lambda x, w: pulled(compiled(torch.vmap(lambda x, w: tell(x, w))), x, w))
stack("compile of vmap of grad")(
    lambda x, w: compiled(torch.vmap(torch.func.grad(total, (0, 1))))(x.detach(), w.detach())
)
stack("make_fx")(lambda x, w: pulled(make_fx(lambda x, w: tell(x, w))(x, w), x, w))
stack("make_fx, symbolic")(lambda x, w: pulled(make_fx(lambda x, w: tell(x, w), tracing_mode="symbolic")(x, w), x, w))
stack("make_fx of func.grad")(lambda x, w: make_fx(torch.func.grad(total, (0, 1)))(x, w)(x, w))
stack("make_fx of vmap")(lambda x, w: pulled(make_fx(torch.vmap(lambda x, w: tell(x, w)))(x, w), x, w))


@stack("reentrant checkpoint")
def _(x: torch.Tensor, w: torch.Tensor) -> Pair:
    checkpoint(tell, x, w, use_reentrant=True).sum().backward()
    return x.grad, w.grad  # type: ignore[return-value]


@stack("dual numbers")
def _(x: torch.Tensor, w: torch.Tensor) -> Pair:
    x, w = x.detach(), w.detach()
    with forward_ad.dual_level():
        by_x = tell(forward_ad.make_dual(x, torch.ones_like(x)), w)
        by_w = tell(x, forward_ad.make_dual(w, torch.ones_like(w)))
        return forward_ad.unpack_dual(by_x).tangent, forward_ad.unpack_dual(by_w).tangent


@stack("compiled autograd")
def _(x: torch.Tensor, w: torch.Tensor) -> Pair:
    with torch._dynamo.compiled_autograd._enable(torch.compile(backend="aot_eager")):
        tell(x, w).sum().backward()
    return x.grad, w.grad  # type: ignore[return-value]


@pytest.mark.parametrize("name", STACKS)
def test_the_rule_is_used(name: str) -> None:
    x, w = (torch.randn(4, dtype=torch.float64, requires_grad=True) for _ in range(2))
    expected = (6 * w.detach(), 5 * x.detach())
    assert_gradients(STACKS[name](x, w), expected)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.filterwarnings("ignore:.isinstance.treespec, LeafSpec.. is deprecated:FutureWarning")  # torch's own export
def test_an_exported_module_trains_with_the_rule(strict: bool) -> None:
    x, w = (torch.randn(4, dtype=torch.float64, requires_grad=True) for _ in range(2))
    module = torch.export.export(Layer(w), (x.detach(),), strict=strict).module()
    found = torch.autograd.grad(module(x).sum(), (x, module.w))
    assert_gradients(found, (6 * w.detach(), 5 * x.detach()))


def test_a_hyperparameter_that_changes_is_never_stale_under_compile() -> None:
    fn = compiled(tell)
    x, w = (torch.randn(4, dtype=torch.float64, requires_grad=True) for _ in range(2))
    for k in (2.0, 3.0, 4.5, 5.0, 7.25):
        assert_gradients(pulled(lambda x, w, k=k: fn(x, w, k), x, w), (3 * w.detach() * k, 5 * x.detach()))


def test_a_recorded_graph_names_the_function() -> None:
    x, w = torch.randn(3), torch.randn(3)
    graph = make_fx(lambda x, w: tell(x, w))(x, w)
    assert "tell" in graph.code
    torch.testing.assert_close(graph(x, w), tell(x, w), rtol=0, atol=0)


def test_a_recorded_graph_refuses_hyperparameters_that_are_no_plain_data() -> None:
    class Config:
        """Any object."""

    scaled = pb.function(_scaled)
    x = torch.randn(3, requires_grad=True)
    with pytest.raises(pb.PullbackError, match="plain data"):
        make_fx(lambda x: scaled(x, Config()))(x)


def _scaled(x: torch.Tensor, config: object) -> torch.Tensor:
    return x * 2


def test_a_recorded_graph_refuses_to_work_in_place() -> None:
    doubled = pb.function(inplace="x")(lambda x: x.mul_(2))
    doubled.grad("x")(lambda g: 2 * g)
    with pytest.raises(pb.PullbackError, match="in place"):
        make_fx(lambda x: doubled(x.clone()))(torch.randn(3))


def test_functions_pickle_by_name() -> None:
    assert pickle.loads(pickle.dumps(tell)) is tell
