"""Surrogates: a step whose gradient is that of a smooth function, and rounding that lets the cotangent through.

Every spike is 1 where x > 0. Its gradient is that of a distribution function S(x / width), so it has an area of 1; the
width may be a number, or a tensor that is learnt.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from pullback.define.decorate import function, function_from
from pullback.functional.cores import logistic_slope, normal_pdf
from pullback.functional.limits import not_negative, positive
from pullback.functional.record import Parameter, entry
from pullback.functional.wide import upcast

FAMILY = "surrogate"
STE = "Bengio, Léonard, Courville 2013, arXiv:1308.3432"


def spike(name: str, what: str, density: Callable[[torch.Tensor], torch.Tensor], like: str, source: str) -> Any:
    """A step with the gradient of ``like``, whose derivative by x / width is ``density``."""

    def forward(x: torch.Tensor, width: torch.Tensor | float = 1.0) -> torch.Tensor:
        positive(name, "width", width)
        return (x > 0).to(x.dtype)

    forward.__name__ = forward.__qualname__ = name
    at_zero = float(density(torch.zeros((), dtype=torch.float64)))
    forward.__doc__ = (
        f"1 where x > 0, else 0, with the gradient of {what}.\n\n"
        f"Example:\n    >>> x = torch.zeros(1, requires_grad=True)\n"
        f"    >>> {name}(x, 0.5).backward(); x.grad\n    {torch.tensor([2 * at_zero])}\n"
    )
    made = function_from(forward)

    @made.grad("x", surrogate=True)  # type: ignore[untyped-decorator]
    def _(g: torch.Tensor, x: torch.Tensor, width: torch.Tensor | float) -> torch.Tensor:
        return g * (density(upcast(x) / width) / width)

    @made.grad("width", surrogate=True)  # type: ignore[untyped-decorator]
    def _(g: torch.Tensor, x: torch.Tensor, width: torch.Tensor) -> torch.Tensor:
        u = upcast(x) / width
        return -g * (density(u) * u / width)

    return entry(
        FAMILY,
        "where(x > 0, 1, 0)",
        like=like,
        parameters={"width": Parameter(1.0, above=0.0)},
        source=source,
        module="".join(map(str.capitalize, name.split("_"))),
        kinks={0.0: (0.0, at_zero)},
    )(made)


spike_sigmoid = spike(
    "spike_sigmoid",
    "a sigmoid",
    logistic_slope,
    "sigmoid(x / width)",
    "Zenke, Vogels 2021, Neural Computation 33",
)
spike_arctan = spike(
    "spike_arctan",
    "an arctangent",
    lambda u: 1 / (1 + (math.pi * u).square()),
    "0.5 + atan(pi * x / width) / pi",
    "Fang et al. 2020, arXiv:2007.05785",
)
spike_fast_sigmoid = spike(
    "spike_fast_sigmoid",
    "a fast sigmoid, u / (1 + |u|)",
    lambda u: 0.5 / (1 + u.abs()).square(),
    "0.5 + 0.5 * (x / width) / (1 + abs(x / width))",
    "Zenke, Ganguli 2018 (SuperSpike), arXiv:1705.11146",
)
spike_triangle = spike(
    "spike_triangle",
    "a parabolic ramp, a triangle",
    lambda u: torch.relu(1 - u.abs()),
    "where(x > 0, 1, 0) - sign(x) * 0.5 * square(max(1 - abs(x / width), 0))",
    "Esser et al. 2016, arXiv:1603.08270; Bellec et al. 2018, arXiv:1803.09574",
)
spike_boxcar = spike(
    "spike_boxcar",
    "a straight ramp, a rectangle",
    lambda u: (u.abs() < 0.5).to(u.dtype),
    "clamp(x / width + 0.5, 0, 1)",
    "Wu, Deng, Li, Zhu, Shi 2018, arXiv:1706.02609",
)
spike_gaussian = spike(
    "spike_gaussian",
    "the normal distribution function",
    normal_pdf,
    "Phi(x / width)",
    "Yin, Corradi, Bohté 2021, arXiv:2103.12593",
)
spike_erf = spike(
    "spike_erf",
    "an error function",
    lambda u: 0.5641895835477563 * torch.exp(-u * u),
    "0.5 + 0.5 * erf(x / width)",
    "Fang et al. 2023 (SpikingJelly), arXiv:2310.16620",
)
spike_exponential = spike(
    "spike_exponential",
    "two exponentials",
    lambda u: 0.5 * torch.exp(-u.abs()),
    "where(x > 0, 1, 0) - sign(x) * 0.5 * exp(-abs(x / width))",
    "Shrestha, Orchard 2018 (SLAYER), arXiv:1810.08646",
)


def straight(g: torch.Tensor) -> torch.Tensor:
    """The cotangent, as it comes."""
    return g


@entry(FAMILY, "round(x)", like="x", source=STE, module="RoundSTE")
@function
def round_ste(x: torch.Tensor) -> torch.Tensor:
    """x rounded, halves to even, with the gradient of the identity.

    Example:
        >>> x = torch.tensor([0.6, 2.5], requires_grad=True)
        >>> torch.autograd.grad(round_ste(x).sum(), x)
        (tensor([1., 1.]),)
    """
    return torch.round(x)


@entry(FAMILY, "floor(x)", like="x", source=STE, module="FloorSTE")
@function
def floor_ste(x: torch.Tensor) -> torch.Tensor:
    """x rounded down, with the gradient of the identity.

    Example:
        >>> floor_ste(torch.tensor([0.6, -0.5]))
        tensor([ 0., -1.])
    """
    return torch.floor(x)


@entry(FAMILY, "where(x < 0, -1, 1)", like="x", source=STE, kinks={0.0: (1.0, 1.0)}, module="SignSTE")
@function
def sign_ste(x: torch.Tensor) -> torch.Tensor:
    """±1 by the sign of x, 1 at 0, with the gradient of the identity.

    Example:
        >>> sign_ste(torch.tensor([-0.5, 0.0, 3.0]))
        tensor([-1.,  1.,  1.])
    """
    return torch.where(x < 0, -1.0, 1.0).to(x.dtype)


for passing in (round_ste, floor_ste, sign_ste):
    passing.grad("x", surrogate=True)(straight)


@entry(
    FAMILY,
    "where(x < 0, -1, 1)",
    like="clamp(x, -1, 1)",
    source="Courbariaux et al. 2016, arXiv:1602.02830",
    kinks={0.0: (1.0, 1.0), 1.0: (1.0, 1.0)},
    module="ClippedSignSTE",
)
@function
def clipped_sign_ste(x: torch.Tensor) -> torch.Tensor:
    """±1 by the sign of x, 1 at 0; the cotangent passes where |x| ≤ 1.

    Example:
        >>> x = torch.tensor([-0.5, 3.0], requires_grad=True)
        >>> torch.autograd.grad(clipped_sign_ste(x).sum(), x)
        (tensor([1., 0.]),)
    """
    return torch.where(x < 0, -1.0, 1.0).to(x.dtype)


@clipped_sign_ste.grad("x", surrogate=True)
def _(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return g * (x.abs() <= 1)


@entry(
    FAMILY,
    "where(abs(x) > threshold, sign(x), 0)",
    like="x",
    source="Li, Zhang, Liu 2016, arXiv:1605.04711",
    module="TernarySTE",
)
@function
def ternary_ste(x: torch.Tensor, threshold: float = 0.5) -> torch.Tensor:
    """-1, 0 or 1: the sign of x beyond a threshold, with the gradient of the identity.

    Example:
        >>> ternary_ste(torch.tensor([-0.7, 0.3, 2.0]))
        tensor([-1.,  0.,  1.])
    """
    not_negative("ternary_ste", "threshold", threshold)
    return torch.sign(x) * (x.abs() > threshold)


ternary_ste.grad("x", surrogate=True)(straight)
