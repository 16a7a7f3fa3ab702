"""Functions of pullback are checked like anybody's, and what they declare about their gradients is believed."""

from __future__ import annotations

import pytest
import torch

import pullback as pb
from pullback.check import discover, load


def tripled(**declared: bool):
    """2·x with the gradient of 3·x."""

    @pb.function
    def double(x):
        return 2 * x

    @double.grad("x", **declared)
    def _(g):
        return 3 * g

    return double


@pytest.mark.parametrize(("declared", "ok"), [({"surrogate": True}, True), ({}, False)])
def test_a_gradient_that_differs_has_to_say_so(declared: dict[str, bool], ok: bool) -> None:
    report = pb.check(tripled(**declared), torch.randn(5, requires_grad=True))
    assert report.ok is ok
    assert ("surrogate-gradient" if ok else "wrong-derivative") in {f.name for f in report.findings}


def test_a_borrowed_derivative_is_declared() -> None:
    step = pb.surrogate(lambda x: (x > 0).to(x.dtype), like=lambda x, slope: torch.sigmoid(slope * x), name="step")
    report = pb.check(step, torch.randn(5, requires_grad=True), torch.tensor(2.0, requires_grad=True))
    assert report.ok


def test_learned_rounding_is_a_surrogate_in_both_arguments() -> None:
    @pb.function
    def quantize(x, step):
        return torch.round(x / step) * step

    quantize.grad("x")(lambda g: g)
    quantize.grad("step")(lambda g, x, step: g * (torch.round(x / step) - x / step))
    report = pb.check(quantize, torch.randn(5, requires_grad=True), torch.tensor(0.3, requires_grad=True))
    assert report.ok
    assert report.targets[0].verdict == "intent"


def test_a_rule_that_forgets_a_path_is_an_error() -> None:
    @pb.function
    def scaled(x, n):
        return x * n

    scaled.grad("x")(lambda g, n: g * n if n > 0 else None)
    report = pb.check(scaled, torch.randn(4), -2.0)
    (found,) = (f for f in report.findings if f.severity == "error")
    assert found.name == "param-grad-none"
    assert "nondiff" in found.fix


@pytest.mark.parametrize("seed", [0, 2, 17])
def test_a_forward_in_float32_is_measured_by_its_own_digits(seed: int) -> None:
    torch.manual_seed(seed)
    spike = pb.surrogate(lambda x: (x > 0).float(), like=lambda x, width: torch.sigmoid(x / width), name="spike")
    assert pb.check(spike, torch.randn(5, 6), torch.rand(6) + 0.2).ok
    gated = pb.function(lambda x, w: torch.tanh(x.float() * w.float()))
    gated.grad("x")(lambda g, w, out: g * (1 - out * out) * w)
    gated.grad("w")(lambda g, x, out: g * (1 - out * out) * x)
    findings = pb.check(gated, torch.randn(500, 6), torch.rand(6) + 0.2).findings
    assert [f.name for f in findings if f.severity != "note"] == []


def test_findings_point_at_what_its_author_wrote() -> None:
    class Tripled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            return 3 * g

    wide = pb.surrogate(lambda x: (x > 0).to(x.dtype), like=lambda x, width: torch.sigmoid(x / width))
    for made, inputs in ((pb.from_autograd(Tripled), ()), (wide, (torch.tensor(0.5),))):
        assert pb.check(made, torch.randn(3), *inputs).targets[0].file == __file__


def test_what_was_not_compared_is_said() -> None:
    x, k = torch.randn(3, requires_grad=True), torch.randn(3)
    report = pb.check(tripled(surrogate=True), x)
    assert report.targets[0].notes == []
    product = pb.function(lambda x, k: x * k)
    product.grad("x")(lambda g, k: g * k)
    product.grad("k")(lambda g, x: 5 * g * x)
    assert pb.check(product, x, k).targets[0].notes == ["not compared, since no gradient of it was asked for: k"]
    assert not pb.check(product, x, k.requires_grad_()).ok


RULES_BELOW = """
import torch
import pullback as pb
from pullback.check import discover, load

@pb.function
def scaled(x, k):
    return x * k

scaled.grad("x")(lambda g, k: g * k)
scaled.nondiff("k")
other = None
{work}
"""


@pytest.mark.parametrize(
    ("work", "note"), [("", []), ("print(other)", ["loaded as a slice: the file does work when it is imported"])]
)
def test_rules_that_stand_below_are_heard(work: str, note: list[str], tmp_path) -> None:
    path = tmp_path / "rules_below.py"
    path.write_text(RULES_BELOW.format(work=work))
    source = discover.source(path)
    module, notes = load.load(source)
    assert notes == note
    made = module.scaled.__pullback__
    assert made.declared("x") is not None
    assert "k" in made.opted_out()[0] | made.opted_out()[1]
