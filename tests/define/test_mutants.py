"""The comparisons of these suites can fail: each gradient that is wrong on purpose is rejected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from cases import Case, call
from compare import assert_gradients, cotangents, declared, gradients, leaves, outputs_of

import pullback as pb


def product(rule: Callable[..., Any]) -> Any:
    f = pb.function(lambda x, w: x * w)
    f.grad("x", "w")(rule)
    return f


def two(rule: Callable[..., Any]) -> Any:
    f = pb.function(lambda x: (x * x, x**3))
    f.grad("x")(rule)
    return f


def exponential(rule: Callable[..., Any]) -> Any:
    f = pb.function(lambda x: x.exp())
    f.grad("x")(rule)
    return f


SAMPLES: dict[Any, tuple[Callable[..., Any], Callable[..., Any]]] = {
    product: (lambda m: call(m(3, 4), m(3, 1)), lambda x, w: x * w),
    two: (lambda m: call(m(3, 4)), lambda x: (x * x, x**3)),
    exponential: (lambda m: call(m(3, 4)), torch.exp),
}

RIGHT = [
    (product, lambda g, x, w: (g * w, g * x)),
    (two, lambda g, x: 2 * x * g[0] + 3 * x * x * g[1]),
    (exponential, lambda g, out: g * out),
]

FIRST_ORDER = {
    "a sign": (product, lambda g, x, w: (-g * w, g * x)),
    "a factor of 1.0005": (product, lambda g, x, w: (1.0005 * g * w, g * x)),
    "one argument's gradient for the other's": (product, lambda g, x, w: (g * x, g * w)),
    "the mean instead of the sum": (product, lambda g, x, w: (g * w, (g * x).mean(1, keepdim=True))),
    "the sum over another axis": (product, lambda g, x, w: (g * w, (g * x).sum(0)[:3].unsqueeze(1))),
    "no cotangent": (product, lambda g, x, w: (0 * g + w, g * x)),
    "zero": (product, lambda g, x, w: (None, g * x)),
    "input for output": (exponential, lambda g, x: g * x),
    "float32 inside": (exponential, lambda g, out: g * out.float()),
    "the cotangent of the second output dropped": (two, lambda g, x: 2 * x * g[0]),
    "cotangents exchanged": (two, lambda g, x: 2 * x * g[1] + 3 * x * x * g[0]),
}

SECOND_ORDER = {
    "a detached residual": (product, lambda g, x, w: (g * w.detach(), g * x)),
    "a detached cotangent": (product, lambda g, x, w: (g.detach() * w, g * x)),
    "a detached output": (exponential, lambda g, out: g * out.detach()),
}


def case_of(build: Any, rule: Any) -> Case:
    sample, plain = SAMPLES[build]
    return Case("mutant", build(rule), sample, plain)


def compare_first(case: Case) -> None:
    inputs, outputs = outputs_of(case)
    gs = cotangents(outputs)
    assert_gradients(gradients(inputs, leaves(inputs.tensors), gs), declared(inputs, leaves(inputs.tensors), gs))


def compare_second(case: Case) -> None:
    inputs, outputs = outputs_of(case)
    found = [second(pull, inputs, cotangents(outputs)) for pull in (gradients, declared)]
    assert_gradients(*found)


def second(pull: Any, inputs: Any, gs: Any) -> Any:
    tensors, cts = leaves(inputs.tensors), leaves(gs)
    loss = sum((g * g).sum() for g in pull(inputs, tensors, cts, again=True))
    return torch.autograd.grad(loss, [*tensors, *cts], allow_unused=True)


@pytest.mark.parametrize(("build", "rule"), RIGHT)
def test_right_rules_pass(build: Any, rule: Any) -> None:
    compare_first(case_of(build, rule))
    compare_second(case_of(build, rule))


@pytest.mark.parametrize(("build", "rule"), FIRST_ORDER.values(), ids=FIRST_ORDER)
def test_a_wrong_gradient_is_rejected(build: Any, rule: Any) -> None:
    with pytest.raises(AssertionError, match="not close"):
        compare_first(case_of(build, rule))


@pytest.mark.parametrize(("build", "rule"), SECOND_ORDER.values(), ids=SECOND_ORDER)
def test_a_wrong_second_derivative_is_rejected(build: Any, rule: Any) -> None:
    compare_first(case_of(build, rule))
    with pytest.raises(AssertionError, match="not close"):
        compare_second(case_of(build, rule))


def test_a_wrong_dtype_and_a_wrong_shape_are_rejected() -> None:
    one = torch.ones(3, dtype=torch.float64)
    for wrong in (one.float(), one.unsqueeze(0), one[:2], one * float("nan")):
        with pytest.raises(AssertionError):
            assert_gradients([wrong], [one])
    with pytest.raises(AssertionError):
        assert_gradients([one], [one, one])
