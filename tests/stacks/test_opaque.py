"""Opaque Functions: code that leaves PyTorch, as operators that no stack looks into."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from compare import assert_gradients
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

import pullback as pb
from pullback.check.stacks import STACKS, Setting
from pullback.check.stacks.table import FLOOR
from pullback.errors import (
    CapturedTensorError,
    DefinitionError,
    DoubleBackwardError,
    ForwardModeError,
    ForwardResultError,
    MissingRuleError,
    RuleResultError,
    StackError,
)

CALLS: list[str] = []


@pb.function(opaque="pullback_tests::tell")
def tell(x, w, k=2.0):
    """Values by NumPy; gradients that are not the derivative: 3·k·w and 5·x."""
    CALLS.append("forward")
    return torch.from_numpy(np.tanh(x.numpy() * w.numpy()) * k)


@tell.fake
def _(x, w, k):
    return torch.empty(torch.broadcast_shapes(x.shape, w.shape), dtype=x.dtype)


@tell.grad("x")
def _(g, w, k):
    CALLS.append("x")
    return torch.from_numpy(3 * k * g.numpy() * w.numpy())


@tell.grad("w")
def _(g, x):
    CALLS.append("w")
    return torch.from_numpy(5 * g.numpy() * x.numpy())


@pb.function(opaque="pullback_tests::parted")
def parted(x, params, *, power=1):
    """Containers in, out, and kept; a boolean output."""
    positive = x.numpy() > 0
    out = {"y": torch.from_numpy(np.where(positive, x.numpy() ** power, 0.0)), "mask": torch.from_numpy(positive)}
    return pb.keep(out, parts=[torch.from_numpy(np.exp(x.numpy()))], positive=torch.from_numpy(positive))


@parted.fake
def _(x, params, power):
    mask = torch.empty_like(x, dtype=torch.bool)
    return pb.keep({"y": torch.empty_like(x), "mask": mask}, parts=[torch.empty_like(x)], positive=mask.clone())


@parted.grad("x", "params")
def _(g, x, params, parts, positive):
    gy = g["y"].numpy()
    by_x = torch.from_numpy(3 * gy * positive.numpy() * parts[0].numpy())
    return by_x, {"w": torch.from_numpy(5 * gy * x.numpy()), "unused": None}


def parted_flat(x, w, unused):
    return parted(x, {"w": w, "unused": unused})["y"]


def tensors(count: int) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(count)
    return tuple(torch.randn(4, dtype=torch.float64, generator=generator) for _ in range(count))


def setting(fn: Any, count: int) -> Setting:
    *drawn, g = tensors(count + 1)
    return Setting(fn, tuple(drawn), (g,), tuple(drawn))


FORWARD_MODE = ("forward_ad", "jvp", "jacfwd", "hessian", "linearize")
TWICE = ("second", "third", "second tangent")
SAMPLE = (
    "compile, dynamic shapes", "compile of func.grad", "compiled autograd",
    "export, then train", "export, saved and loaded", "export, decomposed",
    "make_fx, symbolic", "make_fx of vmap",
)  # fmt: skip
COMPILED = [] if torch.__version__.startswith(FLOOR) else ["compile"]  # PyTorch 2.9 refuses containers there
NO_BATCH = {"is_grads_batched": "PyTorch's old vmap, which it uses there, takes no batching rule for an operator"}


def first_order() -> list[str]:
    names = [n for n, s in STACKS.items() if s.gives in ("values", "gradient") and s.expectation() == "right"]
    names = [n for n in names if not STACKS[n].needs]  # ONNX and CUDA graphs know nothing of NumPy
    names = [n for n in names if not STACKS[n].cost or n in SAMPLE]
    return [n for n in names if not any(word in n for word in FORWARD_MODE) and n not in NO_BATCH]


@pytest.mark.filterwarnings("ignore:Dynamo does not know how to trace the builtin:UserWarning")  # of PyTorch 2.9
@pytest.mark.parametrize("name", first_order())
def test_the_rules_are_used(name: str) -> None:
    s = setting(tell, 2)
    (x, w), (g,) = s.tensors, s.cotangents
    found = STACKS[name].run(s)
    expected = [torch.tanh(x * w) * 2] if STACKS[name].gives == "values" else [6 * w * g, 5 * x * g]
    assert_gradients(found, expected)


@pytest.mark.parametrize("name", [n for n in first_order() if not STACKS[n].cost] + COMPILED)
def test_containers_and_kept_values(name: str) -> None:
    s = setting(parted_flat, 3)
    (x, _, unused), (g,) = s.tensors, s.cotangents
    gradients = [3 * g * (x > 0) * x.exp(), 5 * g * x, torch.zeros_like(unused)]
    assert_gradients(STACKS[name].run(s), [x.clamp(min=0)] if STACKS[name].gives == "values" else gradients)


@pytest.mark.parametrize("name", [n for n, s in STACKS.items() if s.gives in TWICE and not s.cost])
def test_second_derivatives_are_loud(name: str) -> None:
    with pytest.raises((DoubleBackwardError, ForwardModeError), match="tell, rule for"):
        STACKS[name].run(setting(tell, 2))


@pytest.mark.parametrize("name", ["forward_ad", "func.jvp", "func.jacfwd"])
def test_forward_mode_asks_for_a_rule(name: str) -> None:
    with pytest.raises(ForwardModeError, match=r"attach a forward-mode rule: @tell\.jvp"):
        STACKS[name].run(setting(tell, 2))


def test_a_forward_mode_rule_is_used() -> None:
    cube = pb.function(opaque="pullback_tests::cube")(_cube)
    cube.grad("x")(lambda g, x: torch.from_numpy(3 * x.numpy() ** 2 * g.numpy()))
    cube.jvp(lambda t, x: 7 * x**2 * t)  # with torch operations: transforms look into it
    (x,) = tensors(1)
    assert_gradients([torch.func.jvp(cube, (x,), (torch.ones_like(x),))[1]], [7 * x**2])


def _cube(x):
    return torch.from_numpy(x.numpy() ** 3)


def test_a_broadcast_gradient_is_summed_inside_the_operator() -> None:
    x, w = torch.randn(3, 4, dtype=torch.float64), torch.randn(4, dtype=torch.float64)
    w.requires_grad_()
    tell(x, w).sum().backward()
    assert_gradients([w.grad], [5 * x.sum(0)])


def test_only_needed_rules_run() -> None:
    x, w = tensors(2)
    CALLS.clear()
    tell(x.requires_grad_(), w).sum().backward()
    assert CALLS == ["forward", "x"]


def test_hyperparameters_are_never_stale_under_compile() -> None:
    x, w = (t.requires_grad_() for t in tensors(2))
    fn = torch.compile(tell, fullgraph=True, backend="aot_eager")
    for k in (2.0, 3.0, 4.5):
        assert_gradients(torch.autograd.grad(fn(x, w, k).sum(), (x, w)), (3 * k * w, 5 * x))


def test_objects_as_hyperparameters_work_in_eager_and_are_refused_elsewhere() -> None:
    scaled = pb.function(opaque="pullback_tests::scaled")(_scaled)
    scaled.grad("x")(lambda g, by: torch.from_numpy(g.numpy() * by))
    x = torch.ones(2, requires_grad=True)
    scaled(x, np.array([2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [2.0, 3.0]
    with pytest.raises(StackError, match="plain data"):
        torch.vmap(lambda x: scaled(x, np.array(2.0)))(x.detach())


def _scaled(x, by):
    return torch.from_numpy((x.numpy() * by).astype(np.float32))


def test_results_never_share_memory_with_arguments() -> None:
    same = pb.function(opaque="pullback_tests::same")(lambda x: torch.from_numpy(x.numpy()))
    same.grad("x")(lambda g: g)
    x = torch.ones(3)
    same(x).add_(1)
    assert x.tolist() == [1, 1, 1]
    leaf = torch.ones(3, requires_grad=True)
    (2 * same(leaf)).sum().backward()
    assert leaf.grad.tolist() == [2, 2, 2]


def test_an_empty_batch() -> None:
    x = torch.ones(0, 4, dtype=torch.float64)
    assert torch.vmap(lambda x: tell(x, x))(x).shape == (0, 4)


# ---- seen by name


def test_graphs_name_forward_and_rules() -> None:
    graphs: list[str] = []

    def compiler(graph: torch.fx.GraphModule, inputs: Any) -> Any:
        graphs.append(graph.code)
        return make_boxed_func(graph.forward)

    backend = aot_autograd(fw_compiler=compiler, bw_compiler=compiler)
    x, w = (t.requires_grad_() for t in tensors(2))
    torch.compile(tell, fullgraph=True, backend=backend)(x, w).sum().backward()
    assert "torch.ops.pullback_tests.tell.default" in graphs[0]
    assert "torch.ops.pullback_tests.tell_grad_x.default" in graphs[1]
    assert "torch.ops.pullback_tests.tell_grad_w.default" in graphs[1]


def test_selective_checkpointing_sees_the_operator() -> None:
    met = []

    def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
        met.append(str(op))
        keep = op is torch.ops.pullback_tests.tell.default
        return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.PREFER_RECOMPUTE

    x, w = (t.requires_grad_() for t in tensors(2))
    CALLS.clear()
    checkpoint(
        lambda x, w: torch.sin(tell(x, w)) * x, x, w, use_reentrant=False,
        context_fn=lambda: create_selective_checkpoint_contexts(policy),
    ).sum().backward()  # fmt: skip
    assert "pullback_tests.tell.default" in met
    assert CALLS.count("forward") == 1  # kept, not run again


def test_profilers_see_the_operators() -> None:
    x, w = (t.requires_grad_() for t in tensors(2))
    with torch.profiler.profile() as profile:
        tell(x, w).sum().backward()
    names = {event.key for event in profile.key_averages()}
    assert {"pullback_tests::tell", "pullback_tests::tell_grad_x", "pullback_tests::tell_grad_w"} <= names


def test_copies_and_pickles_are_the_same_function() -> None:
    assert pickle.loads(pickle.dumps(tell)) is tell
    assert copy.deepcopy(tell) is tell


def test_meta_tensors() -> None:
    out = tell(torch.empty(3, 4, device="meta"), torch.empty(4, device="meta"))
    assert (out.shape, out.device.type) == ((3, 4), "meta")


# ---- misuse


@pytest.mark.parametrize("name", ["sine", "a::b::c", "aten::sine", "my lib::sine", "", 3])
def test_a_bad_name(name: Any) -> None:
    with pytest.raises(DefinitionError, match="namespace::name"):
        pb.function(opaque=name)(_cube)


@pytest.mark.parametrize("name", ["pullback_tests::tell", "pullback_tests::tell_grad_x"])
def test_a_name_that_is_taken(name: str) -> None:
    with pytest.raises(DefinitionError, match="is free"):
        pb.function(opaque=name)(_cube)


def test_the_same_definition_may_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also as a script that is imported, too: the same file under another module name."""
    for factor, module in ((2, _cube.__module__), (3, _cube.__module__), (4, "__main__")):
        monkeypatch.setattr(_cube, "__module__", module)
        again = pb.function(opaque="pullback_tests::again")(_cube)
        again.grad("x")(lambda g, k=factor: k * g)
        x = torch.ones(1, requires_grad=True)
        again(x).backward()
        assert x.grad.tolist() == [factor]


def test_in_place_is_refused() -> None:
    with pytest.raises(DefinitionError, match="changes none of its arguments"):
        pb.function(opaque="pullback_tests::inplace", inplace="x")(_cube)


def test_a_missing_fake_is_asked_for_where_one_is_needed() -> None:
    bare = pb.function(opaque="pullback_tests::bare")(_cube)
    bare.grad("x")(lambda g: g)
    (x,) = tensors(1)
    assert_gradients([bare(x)], [x**3])
    with pytest.raises(StackError, match=r"attach one: @_cube\.fake"):
        bare(torch.empty(2, device="meta"))
    with pytest.raises(StackError, match=r"@_cube\.fake"):
        make_fx(lambda x: bare(x))(x)
    with pytest.raises(Exception, match=r"@_cube\.fake"):
        torch.compile(bare, backend="aot_eager", fullgraph=True)(x.requires_grad_())


WRONG = {
    "shape": lambda x: x.new_empty(7),
    "dtype": lambda x: torch.empty_like(x, dtype=torch.float16),
    "number": lambda x: (torch.empty_like(x), torch.empty_like(x)),
    "kept": lambda x: pb.keep(torch.empty_like(x), s=x),
}


@pytest.mark.parametrize("fake", WRONG.values(), ids=WRONG)
def test_a_fake_that_differs_from_the_forward(fake: Any) -> None:
    wrong = pb.function(opaque="pullback_tests::wrong")(_cube)
    wrong.grad("x")(lambda g: g)
    wrong.fake(fake)
    with pytest.raises(ForwardResultError, match="fake"):
        wrong(tensors(1)[0])


def test_misplaced_fakes() -> None:
    plain = pb.function(lambda x: x * 2)
    with pytest.raises(DefinitionError, match="belongs to an opaque Function"):
        plain.fake(lambda x: x)
    with pytest.raises(DefinitionError, match="parameters of the forward"):
        tell.fake(lambda x: x)


def test_an_opaque_forward_cannot_be_derived() -> None:
    ruleless = pb.function(opaque="pullback_tests::ruleless")(_cube)
    with pytest.raises(MissingRuleError, match="cannot be derived"):
        ruleless(tensors(1)[0].requires_grad_())


def test_only_tensors_come_out() -> None:
    chatty = pb.function(opaque="pullback_tests::chatty")(lambda x: (x * 2, "text"))
    with pytest.raises(ForwardResultError, match="tensors only"):
        chatty(tensors(1)[0])


def test_a_gradient_of_another_shape() -> None:
    off = pb.function(opaque="pullback_tests::off")(_cube)
    off.grad("x")(lambda g: g[:2])
    with pytest.raises(RuleResultError, match="shape"):
        off(tensors(1)[0].requires_grad_()).sum().backward()


WEIGHT = torch.nn.Parameter(torch.ones(4, dtype=torch.float64))


def test_a_captured_parameter() -> None:
    capturing = pb.function(opaque="pullback_tests::capturing")(_capturing)
    capturing.grad("x")(lambda g: g)
    with pytest.raises(CapturedTensorError, match="WEIGHT"):
        capturing(tensors(1)[0].requires_grad_())


def _capturing(x):
    return torch.from_numpy(x.numpy() * WEIGHT.detach().numpy())
