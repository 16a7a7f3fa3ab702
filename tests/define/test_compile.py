"""torch.compile gives what eager gives, without a break in the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from cases import Case, having
from compare import assert_gradients, assert_values, cotangents, declared, leaves, outputs_of

import pullback as pb
from pullback.errors import PullbackError

OPEN = {
    "a named tuple of outputs": "Dynamo does not put named tuples together again",
}


@pytest.fixture(autouse=True)
def _fresh() -> None:
    torch.compiler.reset()


def compiled(fn: Callable[..., Any], backend: str = "aot_eager") -> Callable[..., Any]:
    return torch.compile(fn, fullgraph=True, backend=backend)


def step(flat: Callable[..., Sequence[torch.Tensor]], lr: float = 0.1) -> Callable[..., Any]:
    """The loss of one training step."""

    def loss(gs: Sequence[torch.Tensor], *tensors: torch.Tensor) -> tuple[Any, ...]:
        outputs = flat(*tensors)
        return *outputs, sum((o * g).real.sum() if g.is_complex() else (o * g).sum() for o, g in zip(outputs, gs))

    return loss


def compilable() -> list[Any]:
    marks = {name: pytest.mark.xfail(reason=reason, strict=True) for name, reason in OPEN.items()}
    return [pytest.param(c, id=c.name, marks=marks.get(c.name, ())) for c in having("compile")]


@pytest.mark.parametrize("case", compilable())
def test_a_training_step(case: Case) -> None:
    inputs, outputs = outputs_of(case)
    gs = cotangents(outputs)
    tensors = leaves(inputs.tensors)
    *values, loss = compiled(step(inputs.flat(case.fn)))([g.conj().resolve_conj() for g in gs], *tensors)
    loss.backward()
    assert_values(values, outputs)
    assert_gradients([t.grad for t in tensors], declared(inputs, leaves(inputs.tensors), gs))


@pytest.mark.parametrize("case", having("compile")[::8], ids=lambda case: case.name)
def test_without_gradients(case: Case) -> None:
    inputs, outputs = outputs_of(case)
    with torch.no_grad():
        assert_values(compiled(inputs.flat(case.fn))(*inputs.tensors), outputs)


def test_inductor() -> None:
    case = next(c for c in having("compile") if c.name == "two kept floats, two arguments")
    inputs, outputs = outputs_of(case)
    gs = cotangents(outputs)
    tensors = leaves(inputs.tensors)
    *values, loss = compiled(step(inputs.flat(case.fn)), "inductor")(gs, *tensors)
    loss.backward()
    assert_values(values, outputs)
    assert_gradients([t.grad for t in tensors], declared(inputs, leaves(inputs.tensors), gs))


def test_the_tell_tale_gradient_survives_func_grad_inside_compile() -> None:
    case = next(c for c in having("compile") if c.name == "not the derivative")
    x = case.inputs().tensors[0]
    found = compiled(torch.func.grad(lambda x: case.fn(x).sum()))(x)
    assert torch.equal(found, torch.full_like(x, 3.0))


def test_the_tell_tale_gradient_survives_vmap_inside_compile() -> None:
    case = next(c for c in having("compile") if c.name == "not the derivative")
    x = case.inputs().tensors[0]
    found = compiled(torch.vmap(torch.func.grad(lambda x: 1 * case.fn(x))))(x)
    assert torch.equal(found, torch.full_like(x, 3.0))


def test_the_same_tensor_twice() -> None:
    case = next(c for c in having("compile") if c.name == "broadcast arguments")
    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    compiled(lambda x: case.fn(x, x).sum())(x).backward()
    assert torch.equal(x.grad, torch.full_like(x, 2.0))


slope = 2.0


def test_a_global_is_read_at_each_call() -> None:
    @pb.function
    def f(x):
        return x * slope

    @f.grad("x")
    def _(g):
        return g * slope * 10

    fn = compiled(lambda x: f(x).sum())
    found = [gradient_with(fn, value) for value in (2.0, 3.0, 2.0)]
    assert found == [(2.0, 20.0), (3.0, 30.0), (2.0, 20.0)]


def gradient_with(fn: Callable[..., Any], value: float) -> tuple[float, float]:
    global slope
    before, slope = slope, value
    try:
        x = torch.ones(1, requires_grad=True)
        loss = fn(x)
        loss.backward()
        return loss.item(), x.grad.item()
    finally:
        slope = before


def test_a_hyperparameter_that_changes() -> None:
    case = next(c for c in having("compile") if c.name == "hyperparameters by default")
    fn = torch.compile(lambda x, n: case.fn(x, n).sum(), fullgraph=True, backend="aot_eager")
    for n in (2, 3, 4):
        x = torch.full((3,), 2.0, requires_grad=True)
        fn(x, n).backward()
        assert torch.equal(x.grad, torch.full((3,), n * 2.0 ** (n - 1)))


def test_a_mistake_is_explained_under_compile() -> None:
    """Dynamo wraps every exception, so only the text is promised."""

    @pb.function
    def quantize(x):
        return x * 2

    @quantize.grad("x")
    def _(g):
        return torch.cat([g, g])

    x = torch.ones(3, requires_grad=True)
    with pytest.raises(Exception, match="quantize, rule for 'x'") as caught:
        compiled(lambda x: quantize(x).sum())(x).backward()
    assert isinstance(caught.value, (PullbackError, RuntimeError))


def test_a_captured_tensor_is_found_under_compile() -> None:
    w = torch.ones(3, requires_grad=True)

    @pb.function
    def quantize(x):
        return x * w

    @quantize.grad("x")
    def _(g):
        return g

    with pytest.raises(Exception, match="quantize"):
        compiled(lambda x: quantize(x).sum())(torch.ones(3, requires_grad=True)).backward()
