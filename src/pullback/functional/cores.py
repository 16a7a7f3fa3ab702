"""Functions from which the entries are built: stable in the dtype they are given, to every order of derivative."""

from __future__ import annotations

import torch

from pullback.define.decorate import function


def folded(x: torch.Tensor) -> torch.Tensor:
    """-|x|, with a derivative of -1 at zero: whatever is even then has the right derivatives there, too."""
    return torch.where(x < 0, x, -x)


def negative(x: torch.Tensor) -> torch.Tensor:
    """min(x, 0), without a gradient where x is positive."""
    return torch.where(x > 0, 0.0, x)


@function
def logistic(x: torch.Tensor) -> torch.Tensor:
    """1 / (1 + exp(-x)), also where exp(-x) is infinite."""
    e = torch.exp(folded(x))
    return torch.where(x < 0, e, 1.0) * (1 / (1 + e))


@logistic.grad("x")
def _(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return g * logistic_slope(x)  # not y·(1 - y), which is zero as soon as y is rounded to one


def logistic_slope(x: torch.Tensor) -> torch.Tensor:
    """The derivative of logistic, logistic(x)·logistic(-x), from one exponential."""
    e = torch.exp(folded(x))
    return e / (1 + e).square()


def logistic_pair(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """logistic(x) and logistic(-x), from one exponential."""
    e = torch.exp(folded(x))
    r = 1 / (1 + e)
    return torch.where(x < 0, e, 1.0) * r, torch.where(x < 0, 1.0, e) * r


@function
def tangent(x: torch.Tensor) -> torch.Tensor:
    """tanh(x), with a derivative that keeps its digits."""
    return torch.tanh(x)


@tangent.grad("x")
def _(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return g * sech2(x)


def sech2(x: torch.Tensor) -> torch.Tensor:
    """1 / cosh(x)², the derivative of tanh."""
    return 4 * logistic_slope(2 * x)


def normal_cdf(x: torch.Tensor) -> torch.Tensor:
    """The distribution function of the normal distribution, with all digits in the lower tail."""
    return 0.5 * torch.erfc(x * -0.7071067811865476)


def normal_pdf(x: torch.Tensor) -> torch.Tensor:
    """The density of the normal distribution."""
    return 0.3989422804014327 * torch.exp(-0.5 * x * x)


def silu_slope(x: torch.Tensor) -> torch.Tensor:
    """The derivative of x·logistic(x), at infinity too."""
    s, t = logistic_pair(x)
    return s * (1 + x.clamp(-800, 800) * t)


def gelu_slope(x: torch.Tensor) -> torch.Tensor:
    """The derivative of x·Φ(x), at infinity too."""
    x = x.clamp(-40, 40)
    return normal_cdf(x) + x * normal_pdf(x)
