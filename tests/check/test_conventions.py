"""What only the author or the code around a class knows: conventions, attributes and lists that others fill."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import torch

import pullback as pb
from pullback.check import battery


class Options(NamedTuple):
    outer: float = 2.0


OPTIONS = Options()


class AdjointStep(torch.autograd.Function):
    """One step of a differential equation, with the step of its adjoint equation for a gradient."""

    @staticmethod
    def forward(ctx, v, i, dt=0.1):
        ctx.dt = dt
        return v + dt * (i - v), i - dt * i

    @staticmethod
    def backward(ctx, lambda_v, lambda_i):
        lambda_i = lambda_i + ctx.dt * (lambda_v - lambda_i)
        return lambda_v - ctx.dt * lambda_v, lambda_i + ctx.dt * lambda_i, None


class GaussianSample(torch.autograd.Function):
    """A gradient of the distribution, which is not that of the numbers drawn."""

    @staticmethod
    def forward(ctx, loc, scale):
        drawn = torch.randn_like(loc)
        ctx.save_for_backward(drawn)
        return loc + scale * drawn

    @staticmethod
    def backward(ctx, g):
        (drawn,) = ctx.saved_tensors
        return g * 0.5, g * drawn * 0.5


class ArrivalTimes(torch.autograd.Function):
    """When something comes.

    events: a tensor of 0s and 1s
    """

    @staticmethod
    def forward(ctx, events):
        return events * torch.arange(1.0, 1 + len(events), dtype=events.dtype).reshape(-1, *[1] * (events.ndim - 1))

    @staticmethod
    def backward(ctx, g):
        return -g


BY_CONVENTION = [AdjointStep, GaussianSample, ArrivalTimes]


@pytest.mark.parametrize("cls", BY_CONVENTION, ids=lambda cls: cls.__name__)
def test_a_convention_of_the_authors_is_a_warning_until_they_give_inputs(cls: type[torch.autograd.Function]) -> None:
    with battery.chosen(["values"]):
        assert {f.severity for f in pb.check(cls) if f.name == "wrong-derivative"} == {"warning"}
        inputs = [torch.rand(3, 4, dtype=torch.float64, requires_grad=True) for _ in range(2)]
        report = pb.check(cls, *inputs[: 1 if cls is ArrivalTimes else 2])
        assert "error" in {f.severity for f in report}


class WantsAnother(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, options=OPTIONS):
        ctx.options = options
        return options.outer * x

    @staticmethod
    def backward(ctx, g):
        return ctx.options.inner * g, None


class SetFromOutside(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return ctx.received


def receive(out: torch.Tensor, gradient: torch.Tensor) -> None:
    out.grad_fn.received = gradient


class TakenFromAList(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, recomputed: list[torch.Tensor]):
        ctx.recomputed = recomputed
        return 2 * x

    @staticmethod
    def backward(ctx, g):
        made, leaf = ctx.recomputed.pop()
        torch.autograd.backward(made.detach(), g)
        return leaf.grad, None


def test_what_is_missing_is_a_fault_where_nothing_else_provides_it() -> None:
    with battery.chosen(["contract"]):
        assert "backward-raises" in pb.check(WantsAnother).names()  # its own default has no such attribute
        for cls in (SetFromOutside, TakenFromAList):
            (found,) = pb.check(cls).targets
            assert found.status == "unchecked"
            assert not [f for f in found.findings if f.severity == "error"]
