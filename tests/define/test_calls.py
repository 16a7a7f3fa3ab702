"""Calls do not disturb each other: two at once, one twice, in threads, in other processes, in copies."""

from __future__ import annotations

import copy
import gc
import multiprocessing
import pickle
import threading
import weakref
from typing import Any

import functions
import pytest
import torch
from cases import CASES, Case
from compare import assert_gradients, cotangents, declared, gradients, leaves, outputs_of
from torch.utils.checkpoint import checkpoint

import pullback as pb
from pullback.errors import MutationError

EVERY = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@EVERY
def test_two_interleaved_calls(case: Case) -> None:
    one, other = case.inputs(seed=0), case.inputs(seed=5)
    tensors = [leaves(one.tensors), leaves(other.tensors)]
    outputs = [i.flat(case.fn)(*ts) for i, ts in zip((one, other), tensors, strict=True)]
    gs = [cotangents(o) for o in outputs]
    for inputs, ts, outs, g in zip((one, other), tensors, outputs, gs, strict=True):
        torch.autograd.backward(outs, g)
        assert_gradients([t.grad for t in ts], declared(inputs, leaves(inputs.tensors), g))


@EVERY
def test_two_backward_passes_of_one_call(case: Case) -> None:
    inputs, outputs = outputs_of(case)
    gs, tensors = cotangents(outputs), leaves(inputs.tensors)
    outs = inputs.flat(case.fn)(*tensors)
    torch.autograd.backward(outs, gs, retain_graph=True)
    torch.autograd.backward(outs, gs)
    assert_gradients([t.grad for t in tensors], [2 * e for e in declared(inputs, leaves(inputs.tensors), gs)])


@EVERY
@pytest.mark.parametrize("reentrant", [False, True], ids=["not reentrant", "reentrant"])
def test_checkpoint(case: Case, reentrant: bool) -> None:
    inputs, outputs = outputs_of(case)
    gs, tensors = cotangents(outputs), leaves(inputs.tensors)
    outs = checkpoint(inputs.flat(case.fn), *tensors, use_reentrant=reentrant)
    torch.autograd.backward(outs, gs)
    assert_gradients([t.grad for t in tensors], declared(inputs, leaves(inputs.tensors), gs))


def test_a_call_in_place_after_the_first_is_served_by_generated_code() -> None:
    @pb.function(inplace="x")
    def halve(x, w, other=False):
        if other:
            return x.mul_(0.5) + 0
        return x.mul_(0.5).add_(w)

    halve.grad("x", "w")(lambda g: (g / 2, g))
    for grad in (True, False):
        leaf, w = torch.ones(3, requires_grad=grad), torch.full((3,), 2.0)
        for _ in range(3):
            x = leaf * 1
            out = halve(x, w)
            assert out is x
            assert out.tolist() == [2.5] * 3
            assert not grad or torch.autograd.grad(out.sum(), leaf)[0].tolist() == [0.5] * 3
    assert halve.describe(leaf, w).path == "generated"
    leaf = torch.ones(3, requires_grad=True)
    with pytest.raises(MutationError, match="must return it"):
        halve(leaf * 1, w, True)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        halve(leaf, w)


def test_a_second_backward_pass_without_retain_graph_is_an_error() -> None:
    y = functions.square(torch.ones(3, requires_grad=True))
    y.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()


def test_changing_a_saved_tensor_before_backward_is_an_error() -> None:
    x = torch.ones(3, requires_grad=True) * 1
    y = functions.square(x)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_the_same_tensor_for_two_arguments() -> None:
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    for _ in range(2):
        (found,) = torch.autograd.grad(functions.multiply(x, x).sum(), x)
        assert torch.equal(found, 2 * x)


def test_unused_outputs_cost_nothing_and_count_as_zero() -> None:
    x = torch.tensor([0.5, 1.0], dtype=torch.float64, requires_grad=True)
    for _ in range(2):
        sin, cos = functions.sincos(x)
        (of_sin,) = torch.autograd.grad(sin.sum(), x, retain_graph=True)
        (of_cos,) = torch.autograd.grad(cos.sum(), x)
        assert_gradients([of_sin, of_cos], [x.cos(), -x.sin()])


def test_the_cotangent_of_an_unused_output_takes_no_memory() -> None:
    seen: list[Any] = []

    @pb.function
    def two(x):
        return 2 * x, 3 * x

    @two.grad("x")
    def _(g):
        seen.append(g)
        return 2 * g[0] + 3 * g[1]

    for _ in range(2):
        two(torch.ones(1000, requires_grad=True))[0].sum().backward()
        assert seen[-1][1].untyped_storage().nbytes() <= 8
        assert torch.equal(seen[-1][1], torch.zeros(1000))


def test_a_cotangent_made_in_inference_mode() -> None:
    with torch.inference_mode():
        g = torch.full((3,), 5.0)
    for _ in range(2):
        x = torch.ones(3, requires_grad=True)
        functions.square(x).backward(g)
        assert torch.equal(x.grad, torch.full((3,), 10.0))


@pb.function
def same(x, w=None):
    return x if w is None else x * w


@same.grad("x")
def _(g, w):
    return 5 * g if w is None else g * w


@same.grad("w")
def _(g, x):
    return g * x


def test_a_forward_that_returns_its_argument() -> None:
    for _ in range(2):
        x = torch.ones(3, requires_grad=True)
        same(x).sum().backward()
        assert torch.equal(x.grad, torch.full((3,), 5.0))
    with torch.no_grad():
        assert torch.equal(same(x), x)
    with torch.inference_mode():
        assert torch.equal(same(x), x)


def test_an_optional_tensor() -> None:
    for _ in range(2):
        x, w = torch.ones(3, requires_grad=True), torch.full((3,), 4.0, requires_grad=True)
        (same(x).sum() + same(x, w).sum() + same(x, w=w).sum()).backward()
        assert torch.equal(x.grad, torch.full((3,), 13.0))
        assert torch.equal(w.grad, torch.full((3,), 2.0))


def test_an_output_whose_structure_changes_with_a_hyperparameter() -> None:
    @pb.function
    def either(x, both):
        return (2 * x, 3 * x) if both else 2 * x

    @either.grad("x")
    def _(g, both):
        return 2 * g[0] + 3 * g[1] if both else 2 * g

    for both in (False, True, True, False, True):
        x = torch.ones(2, requires_grad=True)
        out = either(x, both)
        (sum(o.sum() for o in out) if both else out.sum()).backward()
        assert torch.equal(x.grad, torch.full((2,), 5.0 if both else 2.0))


def test_what_is_kept_may_change_with_the_data() -> None:
    @pb.function
    def f(x):
        return pb.keep(2 * x, extra=(x > 0) if x.sum() > 0 else None)

    @f.grad("x")
    def _(g, extra):
        return 2 * g if extra is None else 7 * g * extra

    for sign in (1.0, -1.0, 1.0, -1.0):
        x = torch.full((2,), sign, requires_grad=True)
        f(x).sum().backward()
        assert torch.equal(x.grad, torch.full((2,), 7.0 if sign > 0 else 2.0))


@pytest.mark.parametrize("kept", ["argument", "output", "twice"])
def test_second_derivatives_where_a_kept_value_is_known_by_another_name(kept: str) -> None:
    @pb.function
    def f(x):
        y = x.exp()
        return pb.keep(y, **{"argument": {"s": x}, "output": {"s": y}, "twice": {"s": y, "t": y}}[kept])

    rules = {
        "argument": lambda g, s: g * s.exp(),
        "output": lambda g, s: g * s,
        "twice": lambda g, s, t, x: g * s * t * (-x).exp(),
    }
    f.grad("x")(rules[kept])
    for _ in range(2):
        x = torch.tensor([0.5, -0.5], dtype=torch.float64, requires_grad=True)
        (one,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
        (two,) = torch.autograd.grad(one.sum(), x, create_graph=True)
        assert_gradients([one, two], [x.exp(), x.exp()])


def test_a_rule_attached_after_a_call_counts() -> None:
    f = pb.function(lambda x: 2 * x)
    found = []
    for rule in (None, lambda g: 7 * g):
        if rule:
            f.grad("x")(rule)
        for _ in range(2):
            x = torch.ones(1, requires_grad=True)
            f(x).backward()
            found.append(x.grad.item())
    assert found == [2.0, 2.0, 7.0, 7.0]


# ---- threads, processes, copies


@pytest.mark.parametrize("case", CASES[::6], ids=lambda case: case.name)
def test_threads(case: Case) -> None:
    case.fn.__pullback__.entries.clear()  # so that all meet the first call at once
    inputs, outputs = outputs_of(case)
    gs = cotangents(outputs)
    expected = declared(inputs, leaves(inputs.tensors), gs)
    barrier, failures = threading.Barrier(4), []

    def work() -> None:
        try:
            barrier.wait(timeout=60)
            for _ in range(20):
                assert_gradients(gradients(inputs, leaves(inputs.tensors), gs), expected)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert failures == []


def module_level() -> list[Any]:
    return [v for v in vars(functions).values() if getattr(v, "__pullback__", None) and v.__name__ in vars(functions)]


@pytest.mark.parametrize("fn", module_level(), ids=lambda fn: fn.__name__)
def test_pickle_and_copies_give_the_function_itself(fn: Any) -> None:
    if fn is getattr(functions, fn.__qualname__, None):
        assert pickle.loads(pickle.dumps(fn)) is fn
    assert copy.deepcopy(fn) is fn
    assert copy.copy(fn) is fn


class Layer(torch.nn.Module):
    """A module with a Function as an attribute."""

    def __init__(self, activation: Any = functions.quantize) -> None:
        super().__init__()
        self.activation = activation
        self.step = torch.nn.Parameter(torch.tensor([0.25]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The activation with the layer's step."""
        return self.activation(x, self.step)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["deepcopy", "pickle"])
def test_a_module_with_a_function(again: Any) -> None:
    layer, x = Layer(), torch.tensor([0.3, 0.9])
    other = again(layer)
    for module in (layer, other):
        module(x).sum().backward()
    assert other.step is not layer.step
    assert torch.equal(other.step.grad, layer.step.grad)


def _in_another_process(queue: Any, fn: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(2):
        (found,) = torch.autograd.grad(fn(x).sum(), x)
    queue.put(found.tolist())


def test_a_spawned_process() -> None:
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_in_another_process, args=(queue, functions.square))
    process.start()
    try:
        assert queue.get(timeout=120) == [2.0, 4.0]
    finally:
        process.join(timeout=60)


def test_a_function_made_in_a_loop_is_freed() -> None:
    def make() -> Any:
        f = pb.function(lambda x: 2 * x)
        f.grad("x")(lambda g: 2 * g)
        for _ in range(2):
            f(torch.ones(2, requires_grad=True)).sum().backward()
        return weakref.ref(f)

    ref = make()
    gc.collect()
    assert ref() is None


def test_a_call_leaves_no_cycle_behind() -> None:
    x = torch.ones(3, requires_grad=True)
    functions.square(x).sum().backward()
    gc.collect()
    gc.disable()
    try:
        y = functions.square(x)
        ref = weakref.ref(y)
        y.sum().backward()
        del y
        assert ref() is None
    finally:
        gc.enable()
