"""Functions of pullback are checked like anybody's, and what they declare about their gradients is believed."""

from __future__ import annotations

import pytest
import torch

import pullback as pb


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
