"""Surrogate gradients are described: area, peak, support, and their names."""

from __future__ import annotations

import math

import mutants
import pytest
import torch

from pullback.check import check

SHAPES = {
    "fast sigmoid": (lambda x: 1 / (1 + 3 * x.abs()) ** 2, 2 / 3 * (1 - 1 / 31), 1.0),
    "derivative of a sigmoid": (lambda x: 4 * torch.sigmoid(4 * x) * (1 - torch.sigmoid(4 * x)), 1.0, 1.0),
    "arctan": (lambda x: 1 / (1 + (math.pi * x) ** 2), 2 / math.pi * math.atan(10 * math.pi), 1.0),
    "Gaussian": (lambda x: torch.exp(-(x**2) / 2) / math.sqrt(2 * math.pi), 1.0, 1 / math.sqrt(2 * math.pi)),
    "triangle": (lambda x: (1 - x.abs()).clamp(min=0), 1.0, 1.0),
    "two-sided exponential": (lambda x: torch.exp(-2 * x.abs()), 1.0, 1.0),
    "rectangle": (lambda x: 0.5 * (x.abs() <= 1).to(x.dtype), 1.0, 0.5),
}


def spike(shape) -> type[torch.autograd.Function]:
    class Spike(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return (x > 0).to(x.dtype)

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output * shape(ctx.saved_tensors[0])

    return Spike


@pytest.mark.parametrize("name", SHAPES)
def test_the_note_names_the_surrogate(name) -> None:
    shape, area, peak = SHAPES[name]
    report = check(spike(shape), mutants.randn(3, 4), probes=["values"])
    (finding,) = report.findings
    assert finding.name == "surrogate-gradient"
    assert finding.evidence["nearest"] == name
    assert f"nearest known: {name}" in finding.message
    assert abs(finding.evidence["area"] - area) < 0.01
    assert abs(finding.evidence["peak"] - peak) < 0.01
    assert finding.evidence["at"] == pytest.approx(0.0)


def test_an_unknown_shape_has_no_name() -> None:
    report = check(spike(lambda x: torch.cos(x).clamp(min=0) ** 0.3), mutants.randn(3, 4), probes=["values"])
    assert "nearest" not in report.findings[0].evidence


def test_straight_through_is_called_so() -> None:
    report = check(spike(torch.ones_like), mutants.randn(3, 4), probes=["values"])
    assert report.findings[0].evidence == {"constant": 1.0}
    assert "straight through" in report.findings[0].message
