"""Plans keep the least, and the gradient comes out as written: to the bit, at every special value, and once more."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest
import torch
from compare import assert_gradients
from kept_cases import CASES, Kept, first_argument
from torch.utils.checkpoint import checkpoint

import pullback as pb
from pullback.errors import KeptError, TraceError, UsageError
from pullback.graph.packing import pack, packed, unpack, unpacked
from pullback.graph.pair import pair
from pullback.graph.plan import plan

Tensors = Sequence[torch.Tensor | None]

NARROW = ("leaky_relu", "clamp, learned", "abs", "hardshrink, ruled", "clamp, ruled")


@cache
def made(name: str, keep: str = "lossless") -> Any:
    """One Function for all tests: its plans are made once."""
    function = pb.function(keep=keep)(CASES[name].forward)
    for arg, rule in CASES[name].rules.items():
        function.grad(arg)(rule)
    return function


def arguments(case: Kept, dtype: torch.dtype = torch.float32) -> list[Any]:
    more = [m.to(dtype) if isinstance(m, torch.Tensor) else m for m in case.more]
    return [v.clone().requires_grad_() if isinstance(v, torch.Tensor) else v for v in (first_argument(dtype), *more)]


@contextmanager
def saved() -> Iterator[list[torch.Tensor]]:
    seen: list[torch.Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t):  # type: ignore[func-returns-value]
        yield seen


def run(function: Any, values: Sequence[Any], again: bool = False) -> tuple[list[torch.Tensor], Tensors]:
    out = function(*values)
    outputs = list(out) if isinstance(out, tuple) else [out]
    wanted = [v for v in values if isinstance(v, torch.Tensor)]
    torch.manual_seed(0)
    cotangents = [torch.randn_like(o) for o in outputs]
    grads: Any = torch.autograd.grad(outputs, wanted, cotangents, create_graph=again, allow_unused=True)
    if again:
        joined = sum((g.nan_to_num() ** 2).sum() for g in grads)
        grads = torch.autograd.grad(joined, wanted, allow_unused=True) if joined.requires_grad else []
    return outputs, grads


@pytest.mark.parametrize("name", CASES)
def test_the_least_is_kept_from_the_first_call_on(name: str) -> None:
    function, values = made(name), arguments(CASES[name])
    for _ in range(2):
        with saved() as seen:
            function(*values)
        bits = sum(8 * t.numel() * t.element_size() for t in seen if t.numel() > 1) / values[0].numel()
        assert bits == CASES[name].bits


@pytest.mark.parametrize(
    ("name", "dtype"), [*((name, torch.float32) for name in CASES), *((name, torch.bfloat16) for name in NARROW)]
)
def test_gradients_come_out_as_written(name: str, dtype: torch.dtype) -> None:
    case, values = CASES[name], arguments(CASES[name], dtype)
    if not case.rules:  # PyTorch's own vector and scalar code differ at NaN
        values[0] = values[0].detach().nan_to_num(nan=2.0, posinf=math.inf, neginf=-math.inf).requires_grad_()
    outputs, grads = run(made(name), values)
    wanted, expected = run(made(name, "named"), values)
    for mine, theirs in zip(outputs, wanted, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=0, equal_nan=True)
    exact = (case.bits < 32 and name != "hardsigmoid") or case.rules  # PyTorch writes its sixth in two ways
    compare: Callable[..., None] = _same if exact else assert_gradients
    compare(grads, expected)


def _same(got: Tensors, want: Tensors) -> None:
    torch.testing.assert_close(got, want, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", [n for n in CASES if n != "hardsigmoid"])  # PyTorch has no second derivative of it
def test_second_derivatives_are_those_of_the_rules(name: str) -> None:
    values = arguments(CASES[name])
    values[0] = values[0].detach().nan_to_num(posinf=4.0, neginf=-4.0).requires_grad_()
    got = run(made(name), values, again=True)[1]
    want = run(made(name, "named"), values, again=True)[1]
    zeros = [torch.zeros_like(v) for v in values if isinstance(v, torch.Tensor)]
    assert_gradients(*([z if g is None else g for g, z in zip(gs or [None] * len(zeros), zeros)] for gs in (got, want)))


def test_small_calls_and_named_keep_what_rules_name() -> None:
    name = "relu, ruled by x"
    small = torch.ones(4, requires_grad=True)
    for function, x in ((made(name), small), (made(name, "named"), arguments(CASES[name])[0])):
        with saved() as seen:
            function(x)
        assert [t.shape for t in seen] == [x.shape]


def test_one_plan_serves_numbers_and_shapes_that_it_holds_for() -> None:
    def step(x: torch.Tensor, slope: float) -> torch.Tensor:
        return torch.where(x > 0, x, slope * x) if slope > 0.25 else torch.where(x > 1, x, -x)

    function = pb.function(step)
    plain = pb.function(keep="named")(step)
    for slope, shape in ((0.5, (40, 50)), (0.75, (2000,)), (0.125, (40, 50)), (0.5, (1, 3000)), (0.25, (20, 20, 20))):
        x = torch.randn(shape, requires_grad=True)
        _same(run(function, (x, slope))[1], run(plain, (x, slope))[1])


SLOPE = 0.5


def outside(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x > 0, x, SLOPE * x)


def test_scalars_from_outside_are_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    function, x = pb.function(outside), torch.linspace(-1, 1, 2000).requires_grad_()
    for slope in (0.5, 0.25):
        monkeypatch.setitem(outside.__globals__, "SLOPE", slope)
        (grad,) = torch.autograd.grad(function(x).sum(), x)
        assert set(grad.tolist()) == {1.0, slope}


def detaches(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x) * x.detach().sign()


def draws(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x) + torch.rand_like(x)


@pytest.mark.parametrize("forward", [detaches, draws])
def test_what_a_graph_cannot_stand_for_keeps_what_rules_name(forward: Callable[..., Any]) -> None:
    x = torch.randn(2000, requires_grad=True)
    with saved() as seen:
        pb.function(forward)(x)
    assert [t.shape for t in seen] == [x.shape]


def test_a_rule_that_computes_what_forward_does_is_not_taken_for_it() -> None:
    """The gradient of ``round`` is the author's; what a rule computes by rounding has PyTorch's derivative, zero."""
    forward, rule = (lambda x: torch.round(x)), (lambda g, x: g * torch.round(x))
    results = []
    for keep in ("lossless", "named"):
        function = pb.function(keep=keep)(forward)
        function.grad("x")(rule)
        results.append(run(function, [torch.linspace(-3, 3, 2000).requires_grad_()], again=True)[1])
    _same(*results)


@pytest.mark.parametrize("strides", ["transposed", "expanded", "channels last"])
def test_any_strides(strides: str) -> None:
    x = {
        "transposed": torch.randn(50, 40).t(),
        "expanded": torch.randn(50, 1).expand(50, 40),
        "channels last": torch.randn(4, 8, 9, 9).to(memory_format=torch.channels_last),
    }[strides].requires_grad_()
    function, plain = made("clamp, ruled"), made("clamp, ruled", "named")
    bounds = [t.clone().requires_grad_() for t in CASES["clamp, ruled"].more]
    _same(run(function, [x, *bounds])[1], run(plain, [x, *bounds])[1])
    (got,) = torch.autograd.grad(function(x, *bounds).sum(), x)  # an expanded cotangent
    _same([got], torch.autograd.grad(plain(x, *bounds).sum(), x))


def test_checkpointing_meets_the_same_tensors_again() -> None:
    function, x = made("relu"), torch.randn(2000, requires_grad=True)
    checkpoint(lambda t: function(t) * 2, x, use_reentrant=False).sum().backward()
    _same([x.grad], [2.0 * (x > 0)])


def test_tracing_leaves_the_generator_and_everybodys_hooks_alone() -> None:
    before = torch.get_rng_state()
    with saved() as seen:
        made.__wrapped__("hardtanh, ruled")(torch.linspace(-2, 2, 2000).requires_grad_())
    assert [type(t) for t in seen] == [torch.Tensor]
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 1000, 1003])
def test_packed_bits_come_back(size: int) -> None:
    mask = torch.arange(size) % 3 == 0
    assert pack(mask).numel() == -(-size // 8)
    assert torch.equal(packed(mask), pack(mask))  # the two ways of packing make the same bytes
    for unpacking in (unpack, unpacked):
        assert torch.equal(unpacking(pack(mask), mask.shape), mask)


def test_forward_graphs_give_the_output_and_what_is_kept() -> None:
    x, *bounds = (v.detach() for v in arguments(CASES["clamp, ruled"]))
    made_plan = plan(made("clamp, ruled").__pullback__, ["x", "low", "high"], [x, *bounds])
    out, *kept = made_plan.forward(x, *bounds)
    torch.testing.assert_close(out, x.clamp(*bounds), rtol=0, atol=0, equal_nan=True)
    assert [k.dtype for k in kept] == [torch.bool] * 2 == [k.dtype for k in made_plan.encode(x, *bounds, out)]
    assert 2 <= made_plan.bits < 2.1
    assert {r.rules for r in made_plan.residuals if r.source == "bits"} <= {("x", "low", "high"), ("low", "high")}


def test_a_list_of_tensors_cannot_be_planned() -> None:
    total = pb.function(lambda xs: xs[0] + xs[1])
    with pytest.raises(TraceError, match="'xs', a list"):
        pair(total.__pullback__, ["xs"], [[torch.ones(3), torch.ones(3)]])


@pytest.mark.parametrize("size", [64, 4096])
@pytest.mark.parametrize("name", ["relu", "clamp, learned", "abs", "tanh"])
def test_assert_kept_holds_at_what_is_kept_and_not_below(name: str, size: int) -> None:
    function, bits = made(name), CASES[name].bits
    values = (torch.randn(size), *CASES[name].more)
    pb.assert_kept(function, *values, bits_per_element=bits)
    with pytest.raises(KeptError, match=f"may keep {bits / 2:g} bits.*\n.*{bits}.* bits"):
        pb.assert_kept(function, *values, bits_per_element=bits / 2)


def test_assert_kept_measures_any_function_and_refuses_what_has_no_elements() -> None:
    pb.assert_kept(torch.sigmoid, torch.randn(100), bits_per_element=32)
    with pytest.raises(KeptError, match="relu: may keep 1 bits"):
        pb.assert_kept(torch.relu, torch.randn(100), bits_per_element=1)
    with pytest.raises(UsageError, match="with elements"):
        pb.assert_kept(torch.relu, torch.randn(0), bits_per_element=1)


@pytest.mark.parametrize("size", [1500, 3000])
def test_code_that_decides_by_sizes_is_not_planned(size: int) -> None:
    x = torch.linspace(0.5, 1.0, size, requires_grad=True)
    by_size(x).sum().backward()
    assert x.grad.unique().tolist() == [2.0 if size > 2000 else 1.0]


@pb.function
def by_size(x):
    return torch.relu(x) * (2.0 if x.shape[0] > 2000 else 1.0)


def test_an_output_may_be_an_argument() -> None:
    x = torch.linspace(-1.0, 1.0, 3000, requires_grad=True)
    same = pb.function(lambda x: x)
    assert plan(same.__pullback__, ["x"], [x.detach()]).residuals == ()  # a plan that fails would go unseen below
    same(x).backward(torch.full_like(x, 3.0))
    assert x.grad.unique().tolist() == [3.0]


def test_an_argument_may_have_the_name_of_an_operands() -> None:
    row = pb.function(lambda table, index: table[index])
    row.grad("table")(lambda g, table, index: torch.zeros_like(table).index_add(0, index, g))
    found = plan(row.__pullback__, ["table"], [torch.arange(12.0).reshape(4, 3), torch.tensor([0, 2])])
    assert [residual.name for residual in found.residuals] == ["table", "index"]


def test_autocast_may_be_turned_on_and_off() -> None:
    product = pb.function(lambda x, w: torch.relu(x @ w))
    x, w = (torch.linspace(-1.0, 1.0, 4096).roll(i).reshape(64, 64).requires_grad_() for i in (0, 7))
    for enabled in (False, True, False):
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            out, plain = product(x, w), torch.relu(x @ w)
        assert_gradients(torch.autograd.grad(out.sum(), [x, w]), torch.autograd.grad(plain.sum(), [x, w]))


def test_a_mode_does_not_see_the_tracing() -> None:
    called = []

    class Seen(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            called.append(getattr(func, "__name__", ""))
            return func(*args, **(kwargs or {}))

    x = torch.linspace(-1.0, 1.0, 3000, requires_grad=True)
    with Seen():
        pb.function(lambda x: torch.relu(x))(x)
    assert "relu" in called
    assert "untyped_storage" not in called
