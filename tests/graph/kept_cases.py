"""Functions and the least that their gradients need, as derived and with rules as their users write them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

import pullback as pb

F = torch.nn.functional
LOW, HIGH = torch.tensor(-0.75), torch.tensor(1.25)


class Kept(NamedTuple):
    """One function.

    Args:
        bits: What it keeps for each element of its output.
        forward: The function.
        rules: Its rules, by the arguments they are for; none if they are derived.
        more: Arguments after the first.
    """

    bits: int
    forward: Callable[..., Any]
    rules: dict[str, Callable[..., Any]] = {}  # noqa: RUF012 - never changed
    more: tuple[Any, ...] = ()


def clamp_where(x: torch.Tensor, low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    return torch.where(x < low, low, torch.where(x > high, high, x))


def leaky_where(x: torch.Tensor, slope: float = 0.1) -> torch.Tensor:
    return torch.where(x > 0, x, slope * x)


def relu_kept(x: torch.Tensor) -> torch.Tensor:
    return pb.keep(x.clamp(min=0), positive=x > 0)


def two_outputs(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.relu(x), torch.relu(-x)


def pact(x: torch.Tensor, alpha: torch.Tensor) -> torch.Tensor:
    return torch.minimum(torch.relu(x), alpha)


CASES = {
    "relu": Kept(1, lambda x: F.relu(x)),
    "leaky_relu": Kept(1, lambda x: F.leaky_relu(x, 0.2)),
    "relu6": Kept(1, lambda x: F.relu6(x)),
    "hardtanh": Kept(1, lambda x: F.hardtanh(x)),
    "hardsigmoid": Kept(1, lambda x: F.hardsigmoid(x)),
    "softshrink": Kept(1, lambda x: F.softshrink(x)),
    "hardshrink": Kept(1, lambda x: F.hardshrink(x)),
    "threshold": Kept(1, lambda x: F.threshold(x, 0.125, 20.0)),
    "clamp": Kept(1, lambda x, low=-1.0, high=1.0: torch.clamp(x, low, high), {}, (-0.5, 0.5)),
    "clamp, learned": Kept(2, lambda x, low, high: torch.clamp(x, low, high), {}, (LOW, HIGH)),
    "clamp, learned and crossed": Kept(2, lambda x, low, high: torch.clamp(x, low, high), {}, (HIGH, LOW)),
    "clamp by where": Kept(2, clamp_where, {}, (LOW, HIGH)),
    "maximum of two": Kept(2, lambda x, low: torch.maximum(x, low), {}, (LOW,)),
    "abs": Kept(2, lambda x: x.abs()),
    "leaky by where": Kept(1, leaky_where, {}, (0.3,)),
    "pact": Kept(3, pact, {}, (HIGH,)),
    "exp": Kept(32, lambda x: torch.exp(x)),
    "tanh": Kept(32, lambda x: torch.tanh(x)),
    "sigmoid": Kept(32, lambda x: torch.sigmoid(x)),
    "silu": Kept(32, lambda x: F.silu(x)),
    "two outputs": Kept(2, two_outputs),
    "relu, ruled by x": Kept(1, lambda x: x.clamp(min=0), {"x": lambda g, x: g * (x > 0)}),
    "relu, ruled by out": Kept(1, lambda x: x.clamp(min=0), {"x": lambda g, out: torch.where(out > 0, g, 0.0)}),
    "relu, ruled by a kept mask": Kept(1, relu_kept, {"x": lambda g, positive: g * positive}),
    "leaky, ruled": Kept(1, leaky_where, {"x": lambda g, x, slope: torch.where(x > 0, g, slope * g)}, (0.3,)),
    "hardshrink, ruled": Kept(1, lambda x: F.hardshrink(x), {"x": lambda g, x: g * (x.abs() > 0.5)}),
    "hardtanh, ruled": Kept(1, lambda x: F.hardtanh(x), {"x": lambda g, x: g * ((x > -1) & (x < 1)).to(g.dtype)}),
    "abs, ruled by sign": Kept(2, lambda x: x.abs(), {"x": lambda g, x: g * torch.sign(x)}),
    "abs, ruled by a side": Kept(1, lambda x: x.abs(), {"x": lambda g, x: torch.where(x >= 0, g, -g)}),
    "sign, straight through": Kept(1, lambda x: torch.sign(x), {"x": lambda g, x: g * (x.abs() <= 1)}),
    "clamp, ruled": Kept(
        2,
        lambda x, low, high: torch.clamp(x, low, high),
        {
            "x": lambda g, x, low, high: g * ((x >= low) & (x <= high)),
            "low": lambda g, x, low: g * (x < low),
            "high": lambda g, x, high: g * (x > high),
        },
        (LOW, HIGH),
    ),
    "tanh, ruled": Kept(32, lambda x: torch.tanh(x), {"x": lambda g, out: g * (1 - out * out)}),
    "exp, ruled": Kept(32, lambda x: torch.exp(x), {"x": lambda g, x: g * torch.exp(x)}),
}

SPECIAL = (0.0, -0.0, math.nan, math.inf, -math.inf, 0.5, -0.5, 1.0, -1.0, 3.0, -3.0, 6.0, -0.75, 1.25, 0.1)


def first_argument(dtype: torch.dtype) -> torch.Tensor:
    """Enough elements for a plan, every special value among them."""
    spread = torch.linspace(-8, 8, 2000 - len(SPECIAL), dtype=torch.float64)
    return torch.cat([torch.tensor(SPECIAL, dtype=torch.float64), spread]).to(dtype).view(40, 50)
