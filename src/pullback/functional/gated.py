"""Gated units: one half of the features decides how much of the other passes."""

from __future__ import annotations

import torch

from pullback.define.decorate import function
from pullback.functional.cores import gelu_slope, logistic, normal_cdf, silu_slope
from pullback.functional.record import entry
from pullback.functional.wide import narrow, upcast

FAMILY = "gated"
GLU = "Shazeer 2020, arXiv:2002.05202"


def swish_one(x: torch.Tensor) -> torch.Tensor:
    """x·σ(x), 0 at -∞."""
    return x.clamp(min=-800) * logistic(x)


def gelu_one(x: torch.Tensor) -> torch.Tensor:
    """x·Φ(x), 0 at -∞."""
    return x.clamp(min=-40) * normal_cdf(x)


@entry(FAMILY, "gate * sigmoid(gate) * value", source=GLU, module="SwiGLU")
@function
def swiglu(gate: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """silu(gate)·value, the gated unit of most language models.

    Example:
        >>> swiglu(torch.tensor([0.0, 1.0]), torch.tensor([5.0, 2.0]))
        tensor([0.0000, 1.4621])
    """
    return narrow(swish_one(upcast(gate)) * value, gate)


@swiglu.grad("gate")
def _(g: torch.Tensor, gate: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    return g * (value * silu_slope(upcast(gate)))


@swiglu.grad("value")
def _(g: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
    return g * swish_one(upcast(gate))


@entry(FAMILY, "gate * Phi(gate) * value", source=GLU, module="GeGLU")
@function
def geglu(gate: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """gelu(gate)·value.

    Example:
        >>> geglu(torch.tensor([0.0, 1.0]), torch.tensor([5.0, 2.0]))
        tensor([0.0000, 1.6827])
    """
    return narrow(gelu_one(upcast(gate)) * value, gate)


@geglu.grad("gate")
def _(g: torch.Tensor, gate: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    return g * (value * gelu_slope(upcast(gate)))


@geglu.grad("value")
def _(g: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
    return g * gelu_one(upcast(gate))


@entry(FAMILY, "relu(gate) * value", source=GLU, module="ReGLU", kinks={0.0: (0.0, 0.0)})
@function
def reglu(gate: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """relu(gate)·value.

    Example:
        >>> reglu(torch.tensor([-1.0, 2.0]), torch.tensor([5.0, 3.0]))
        tensor([0., 6.])
    """
    return narrow(torch.relu(upcast(gate)) * value, gate)


@reglu.grad("gate")
def _(g: torch.Tensor, gate: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    return torch.where(gate > 0, g * value, 0.0)


@reglu.grad("value")
def _(g: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
    return g * torch.relu(gate)


@entry(
    FAMILY,
    "square(relu(x))",
    source="So et al. 2021 (Primer), arXiv:2109.08668",
    module="SquaredReLU",
    kinks={0.0: (0.0, 0.0)},
)
@function
def squared_relu(x: torch.Tensor) -> torch.Tensor:
    """relu(x)².

    Example:
        >>> squared_relu(torch.tensor([-1.0, 3.0]))
        tensor([0., 9.])
    """
    return torch.relu(x).square()


@squared_relu.grad("x")
def _(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return g * (2 * torch.relu(x))
