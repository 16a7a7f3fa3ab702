"""Graphs: what is in them, and what cannot be traced is refused with its line."""

from __future__ import annotations

import inspect
import math
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
from formulas import CASES
from torch.fx._symbolic_trace import is_fx_symbolic_tracing

from pullback.errors import TraceError
from pullback.graph.joint import joint
from pullback.graph.parse import parse
from pullback.graph.read import formula_of, read
from pullback.graph.trace import trace

X = torch.linspace(0.1, 0.9, 3, dtype=torch.float64)
OUTSIDE = torch.ones(3)


def targets(fn: Callable[..., Any], *inputs: Any) -> list[str]:
    nodes = trace(fn, *inputs).module.graph.nodes
    return [str(node.target).removeprefix("aten.") for node in nodes if node.op == "call_function"]


def test_equal_subexpressions_are_merged_and_unused_ones_dropped() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        torch.cos(x)
        return torch.nn.functional.gelu(x, approximate="tanh") * torch.nn.functional.gelu(x, approximate="tanh")

    assert targets(f, X) == ["gelu.default", "mul.Tensor"]


@pytest.mark.parametrize("name", ["sigmoid", "tanh", "erf", "exp", "log1p", "softplus", "silu", "mish", "elu"])
def test_operations_with_a_row_stay_whole(name: str) -> None:
    fn = getattr(torch, name, None) or getattr(torch.nn.functional, name)
    assert targets(fn, X) == [f"{name}.default"]


def test_numbers_are_inputs_and_decisions_by_them_are_told() -> None:
    def f(x: torch.Tensor, slope: float, power: int = 3) -> torch.Tensor:
        if slope > 0.25:
            x = 2 * x
        return slope * x**power

    traced = trace(f, X, 0.5)
    assert [(p.name, p.kind) for p in traced.parameters] == [("x", "tensor"), ("slope", "number"), ("power", "number")]
    assert traced.guards == ("slope > 0.25",)
    for slope, power in ((0.5, 3), (0.75, 2)):
        torch.testing.assert_close(traced.module(X, slope, power), f(X, slope, power))


def test_graphs_hold_for_other_shapes() -> None:
    traced = trace(lambda x, b: torch.tanh(x) * b, torch.ones(3, 4), torch.ones(4))
    torch.testing.assert_close(traced.module(torch.ones(5, 2), torch.ones(2)), torch.tanh(torch.ones(5, 2)))


def branches(x: torch.Tensor) -> torch.Tensor:
    return x if x.sum() > 0 else -x


def loops(x: torch.Tensor) -> torch.Tensor:
    while (x > 1).any():
        x = x / 2
    return x


def reads(x: torch.Tensor) -> torch.Tensor:
    return x * x.max().item()


def draws(x: torch.Tensor) -> torch.Tensor:
    return x * torch.rand_like(x)


def leaves(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(x.detach().numpy())


def captures(x: torch.Tensor) -> torch.Tensor:
    return x * OUTSIDE


@pytest.mark.parametrize(
    ("fn", "line", "said"),
    [
        (branches, 1, "torch.where"),
        (loops, 1, "torch.where"),
        (reads, 1, r"\.item\(\)"),
        (draws, 1, "random operation rand_like"),
        (leaves, 1, "numpy"),
        (captures, 1, r"float32\[3\] from outside"),
    ],
)
def test_refusals_name_the_line(fn: Callable[..., Any], line: int, said: str) -> None:
    at = inspect.getsourcelines(fn)[1] + line
    with pytest.raises(TraceError, match=said) as caught:
        trace(fn, X)
    assert f"{fn.__name__} (test_trace.py:{at})" in str(caught.value)


@pytest.mark.parametrize(
    "name", ["swish", "gelu", "mish", "hardswish", "elu", "learned_clamp", "morse", "gelu_written", "beta_logpdf"]
)
def test_the_graph_of_a_formula_is_the_formula(name: str) -> None:
    formula = parse(CASES[name].text)
    lines = CASES[name].text.split("\n")
    space = {"torch": torch, "math": math}
    exec(f"def f({', '.join(formula.tensors)}):\n    return {lines[-1]}", space)
    read_off = formula_of(space["f"], *(X + i for i, _ in enumerate(formula.tensors)))
    assert (read_off.out.doit() - formula.out.doit()).expand() == 0


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        gate = torch.sigmoid(b * x)
        ctx.save_for_backward(x, b, gate)
        return x * gate

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x, b, gate = ctx.saved_tensors
        return grad_output * gate * (1 + b * x * (1 - gate)), (grad_output * x * x * gate * (1 - gate)).sum()


def test_forward_and_backward_of_a_class_are_one_graph() -> None:
    traced = joint(Swish, X, torch.tensor(1.5, dtype=torch.float64))
    b = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    x = X.clone().requires_grad_()
    out = x * torch.sigmoid(b * x)
    got = traced.module(X, b.detach(), torch.ones_like(X))
    torch.testing.assert_close(got, (out.detach(), *torch.autograd.grad(out.sum(), (x, b))))
    assert [str(term.func) for term in read(traced)][-1] == "total"


def test_several_outputs_are_refused_with_the_reason() -> None:
    class Moments(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> Any:
            return x.mean(), x.square().mean()

    with pytest.raises(TraceError, match="one output that is a tensor"):
        joint(Moments, X)


def test_threads_trace_one_after_the_other_and_leave_nothing() -> None:
    entered, left, leaving = threading.Event(), threading.Event(), []

    def first(x: torch.Tensor) -> torch.Tensor:
        begun.set()
        entered.wait(0.2)  # comes at once where two trace at the same time
        return x * 2

    def second(x: torch.Tensor) -> torch.Tensor:
        entered.set()
        leaving.append(left.wait(5))
        return x * 3

    def work() -> None:
        trace(first, torch.ones(3))
        left.set()

    begun, thread = threading.Event(), threading.Thread(target=work)
    thread.start()
    begun.wait(5)
    trace(second, torch.ones(3))
    thread.join(timeout=10)
    assert leaving == [True]
    assert not is_fx_symbolic_tracing()
