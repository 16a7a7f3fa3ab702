"""What graphs may and may not hold, and what must never be stale in them; `test_matrix` has the values."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from compare import assert_gradients
from torch.fx.experimental.proxy_tensor import make_fx

import pullback as pb
from pullback.check.stacks import Setting, recorded

Pair = tuple[torch.Tensor, torch.Tensor]


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


def compiled(fn: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    torch._dynamo.reset()
    return torch.compile(fn, fullgraph=True, backend="aot_eager", **options)


def pulled(fn: Callable[..., Any], x: torch.Tensor, w: torch.Tensor) -> Pair:
    return torch.autograd.grad(fn(x, w).sum(), (x, w))  # type: ignore[return-value]


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


def test_who_knows_only_operators_of_pytorch_gets_those_of_the_forward() -> None:
    drawn = tuple(torch.randn(4, dtype=torch.float64) for _ in range(2))
    program = recorded.program_of(Setting(tell, drawn, (torch.ones_like(drawn[0]),), drawn), strict=False)
    assert "pullback.call" in program.graph_module.code
    with recorded.quiet():
        program = program.run_decompositions(torch._decomp.get_decompositions([torch.ops.pullback.call.default]))
        module = program.module()
    assert "pullback" not in program.graph_module.code
    assert_gradients([module(drawn[0])], [torch.tanh(drawn[0] * drawn[1]) * 2])


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
