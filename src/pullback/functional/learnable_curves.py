"""Smooth activations that learn: parameters are arguments, scalars or tensors that broadcast with the input."""

from __future__ import annotations

from typing import Any

import torch

from pullback.define.decorate import function
from pullback.functional.cores import logistic, logistic_slope, sech2, silu_slope
from pullback.functional.record import Parameter, entry
from pullback.functional.wide import narrow, upcast

FAMILY = "learnable"
Gradients = tuple[Any, ...]


@entry(
    FAMILY,
    "x * sigmoid(beta * x)",
    parameters={"beta": Parameter(1.0)},
    source="Ramachandran, Zoph, Le 2017, arXiv:1710.05941",
    module="Swish",
)
@function
def swish(x: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    """x·σ(βx) with a learned β.

    Example:
        >>> swish(torch.tensor([-1.0, 0.0, 1.0]), torch.tensor(1.0))
        tensor([-0.2689,  0.0000,  0.7311])
    """
    w = upcast(x)
    return narrow(w * logistic(beta * w), x)


@swish.grad("x")
def _(g: torch.Tensor, x: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    return g * silu_slope(beta * upcast(x))


@swish.grad("beta")
def _(g: torch.Tensor, x: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    w = upcast(x)
    return g * (w * (w * logistic_slope(beta * w)))


@entry(
    FAMILY,
    "x + square(sin(alpha * x)) / alpha",
    parameters={"alpha": Parameter(1.0)},
    source="Liu, Hartwig, Ueda 2020, arXiv:2006.08195",
    module="Snake",
)
@function
def snake(x: torch.Tensor, alpha: torch.Tensor) -> torch.Tensor:
    """x + sin²(αx)/α, for periodic data; x where α is 0.

    Example:
        >>> snake(torch.tensor([0.0, 1.0]), torch.tensor(2.0))
        tensor([0.0000, 1.4134])
    """
    w, zero = upcast(x), alpha == 0
    return narrow(w + torch.sin(alpha * w).square() / torch.where(zero, 1.0, alpha), x)


@snake.grad("x")
def _(g: torch.Tensor, x: torch.Tensor, alpha: torch.Tensor) -> torch.Tensor:
    return g * (1 + torch.sin(2 * alpha * upcast(x)))


@snake.grad("alpha")
def _(g: torch.Tensor, x: torch.Tensor, alpha: torch.Tensor) -> torch.Tensor:
    w, zero = upcast(x), alpha == 0
    a = torch.where(zero, 1.0, alpha)
    slope = (w * torch.sin(2 * a * w) - torch.sin(a * w).square() / a) / a
    return g * torch.where(zero, w * w, slope)


@entry(
    FAMILY,
    "x + square(sin(alpha * x)) / beta",
    parameters={"alpha": Parameter(1.0), "beta": Parameter(1.0, above=0.0)},
    source="Lee, Ping, Ginsburg, Catanzaro, Yoon 2022 (BigVGAN), arXiv:2206.04658",
    module="SnakeBeta",
)
@function
def snake_beta(x: torch.Tensor, alpha: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    """x + sin²(αx)/β: snake with frequency and size learned apart.

    Example:
        >>> snake_beta(torch.tensor([0.0, 1.0]), torch.tensor(2.0), torch.tensor(4.0))
        tensor([0.0000, 1.2067])
    """
    w = upcast(x)
    return narrow(w + torch.sin(alpha * w).square() / beta, x)


@snake_beta.grad("x")
def _(g: torch.Tensor, x: torch.Tensor, alpha: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    return g * (1 + alpha / beta * torch.sin(2 * alpha * upcast(x)))


@snake_beta.grad("alpha")
def _(g: torch.Tensor, x: torch.Tensor, alpha: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    w = upcast(x)
    return g * (w * torch.sin(2 * alpha * w) / beta)


@snake_beta.grad("beta")
def _(g: torch.Tensor, x: torch.Tensor, alpha: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    return -g * (torch.sin(alpha * upcast(x)) / beta).square()


@entry(
    FAMILY,
    "(p1 - p2) * x * sigmoid(beta * (p1 - p2) * x) + p2 * x",
    parameters={"p1": Parameter(1.0), "p2": Parameter(0.0), "beta": Parameter(1.0)},
    source="Ma, Zhang, Liu, Sun 2020, arXiv:2009.04759",
    module="ACONC",
)
@function
def acon_c(x: torch.Tensor, p1: torch.Tensor, p2: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    """A smooth maximum of p₁x and p₂x, which learns whether to activate.

    Example:
        >>> acon_c(torch.tensor([-1.0, 1.0]), torch.tensor(1.0), torch.tensor(0.0), torch.tensor(1.0))
        tensor([-0.2689,  0.7311])
    """
    w = upcast(x)
    u = (p1 - p2) * w
    return narrow(u * logistic(beta * u) + p2 * w, x)


@acon_c.grad("x")
def _(g: torch.Tensor, x: torch.Tensor, p1: torch.Tensor, p2: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    p = p1 - p2
    return g * (p * silu_slope(beta * p * upcast(x)) + p2)


@acon_c.grad("p1", "p2")
def _(g: torch.Tensor, x: torch.Tensor, p1: torch.Tensor, p2: torch.Tensor, beta: torch.Tensor) -> Gradients:
    w = upcast(x)
    slope = silu_slope(beta * (p1 - p2) * w)
    return g * w * slope, g * w * (1 - slope)


@acon_c.grad("beta")
def _(g: torch.Tensor, x: torch.Tensor, p1: torch.Tensor, p2: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    u = (p1 - p2) * upcast(x)
    return g * (u * (u * logistic_slope(beta * u)))


@entry(
    FAMILY,
    "weight * tanh(alpha * x) + bias",
    parameters={"alpha": Parameter(0.5, channels=False), "weight": Parameter(1.0), "bias": Parameter(0.0)},
    source="Zhu, Chen, He, LeCun, Liu 2025, arXiv:2503.10622",
    module="DynamicTanh",
    channel_dim=-1,
)
@function
def dynamic_tanh(x: torch.Tensor, alpha: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """w·tanh(αx) + b, which stands in for a normalization layer (DyT).

    Example:
        >>> dynamic_tanh(torch.tensor([0.0, 2.0]), torch.tensor(0.5), torch.tensor(2.0), torch.tensor(1.0))
        tensor([1.0000, 2.5232])
    """
    return narrow(weight * torch.tanh(alpha * upcast(x)) + bias, x)


@dynamic_tanh.grad("x")
def _(g: torch.Tensor, x: torch.Tensor, alpha: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return g * (weight * alpha * sech2(alpha * upcast(x)))


@dynamic_tanh.grad("alpha")
def _(g: torch.Tensor, x: torch.Tensor, alpha: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    w = upcast(x)
    return g * (weight * w * sech2(alpha * w))


@dynamic_tanh.grad("weight")
def _(g: torch.Tensor, x: torch.Tensor, alpha: torch.Tensor) -> torch.Tensor:
    return g * torch.tanh(alpha * upcast(x))


@dynamic_tanh.grad("bias")
def _(g: torch.Tensor) -> torch.Tensor:
    return upcast(g)


@entry(
    FAMILY,
    "sin(omega * x)",
    parameters={"omega": Parameter(30.0)},
    source="Sitzmann, Martel, Bergman, Lindell, Wetzstein 2020, arXiv:2006.09661",
    module="Siren",
)
@function
def siren(x: torch.Tensor, omega: torch.Tensor) -> torch.Tensor:
    """sin(ωx), the activation of implicit representations.

    Example:
        >>> siren(torch.tensor([0.0, 0.5]), torch.tensor(3.0))
        tensor([0.0000, 0.9975])
    """
    return narrow(torch.sin(omega * upcast(x)), x)


@siren.grad("x")
def _(g: torch.Tensor, x: torch.Tensor, omega: torch.Tensor) -> torch.Tensor:
    return g * (omega * torch.cos(omega * upcast(x)))


@siren.grad("omega")
def _(g: torch.Tensor, x: torch.Tensor, omega: torch.Tensor) -> torch.Tensor:
    w = upcast(x)
    return g * (w * torch.cos(omega * w))


def horner(coefficients: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """c₀ + c₁x + c₂x² + …."""
    total = torch.zeros_like(x)
    for c in coefficients.flip(0).unbind():
        total = total * x + c
    return total


def ratio(x: torch.Tensor, numerator: torch.Tensor, denominator: torch.Tensor) -> torch.Tensor:
    """The plain formula, as the reference: sum(a[j] * x**j) / (1 + abs(sum(b[j] * x**(j + 1))))."""
    zero = torch.zeros_like(x)
    top = sum((a * x**j for j, a in enumerate(numerator)), zero)
    return top / (1 + sum((b * x ** (j + 1) for j, b in enumerate(denominator)), zero).abs())


@entry(
    FAMILY,
    ratio,
    text="sum(a[j] * x**j) / (1 + abs(sum(b[j] * x**(j + 1))))",
    parameters={
        "numerator": Parameter((-0.0055, 0.5326, 0.3036, 0.0636, 0.0053, 0.0001), channels=False),
        "denominator": Parameter((0.1564, 0.0584, 0.0118, -0.0005), channels=False),
    },
    source="Molina, Schramowski, Kersting 2019 (PAU), arXiv:1907.06732",
    module="Rational",
    unfused="its code loops over as many coefficients as there are",
)
@function
def rational(x: torch.Tensor, numerator: torch.Tensor, denominator: torch.Tensor) -> torch.Tensor:
    """A safe Padé unit: a ratio of polynomials whose denominator is never zero, and that never overflows on the way.

    Args:
        x: Any tensor of real numbers.
        numerator: a₀ … aₘ. A module's first coefficients are within 0.05 of silu on [-6, 6].
        denominator: b₁ … bₙ.

    Example:
        >>> rational(torch.tensor([0.0, 2.0]), torch.tensor([1.0, 2.0]), torch.tensor([0.5]))
        tensor([1.0000, 2.5000])
    """
    w = upcast(x)
    a, b, far = upcast(numerator), torch.cat([upcast(denominator.new_zeros(1)), upcast(denominator)]), w.abs() > 1
    near, r = torch.where(far, 0.0, w), 1 / torch.where(far, w, 1.0)  # beyond ±1 in powers of 1/x
    inner = horner(a, near) / (1 + horner(b, near).abs())
    outer = horner(a.flip(0), r) / (r.abs() ** (len(b) - 1) + horner(b.flip(0), r).abs())
    grown = torch.sign(r) ** (len(a) - 1) * r.abs() ** (len(b) - len(a))
    return narrow(torch.where(far, outer * grown, inner), x)
