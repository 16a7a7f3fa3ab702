"""Sigmoids and their like with values and gradients that keep all their digits: names and signatures of PyTorch.

Each computes in float64 for float32, and in float32 for 16 bits. PyTorch's gradient of tanh is 1 - y², which is zero
where y was rounded to one.
"""

from __future__ import annotations

import torch

from pullback.define.decorate import function
from pullback.functional.cores import (
    folded,
    logistic,
    logistic_slope,
    sech2,
    tangent,
)
from pullback.functional.limits import positive
from pullback.functional.record import entry
from pullback.functional.wide import narrow, wide

FAMILY = "accurate"


@entry(FAMILY, "tanh(x)", slope="sech2(x)", source="hyperbolic tangent", module="Tanh", torch="tanh")
@function
def tanh(input: torch.Tensor) -> torch.Tensor:
    """The hyperbolic tangent.

    Example:
        >>> x = torch.tensor([0.0, 20.0], requires_grad=True)
        >>> torch.autograd.grad(tanh(x).sum(), x)  # torch.tanh gives 0 at 20
        (tensor([1.0000e+00, 1.6993e-17]),)
    """
    return narrow(tangent(wide(input)), input)


@tanh.grad("input")
def _(g: torch.Tensor, input: torch.Tensor) -> torch.Tensor:
    return g * sech2(wide(input))


@entry(
    FAMILY,
    "sigmoid(x)",
    slope="sigmoid(x) * sigmoid(-x)",
    source="logistic function",
    module="Sigmoid",
    torch="sigmoid",
)
@function
def sigmoid(input: torch.Tensor) -> torch.Tensor:
    """1 / (1 + exp(-x)).

    Example:
        >>> x = torch.tensor([0.0, 40.0], requires_grad=True)
        >>> torch.autograd.grad(sigmoid(x).sum(), x)  # torch.sigmoid gives 0 at 40
        (tensor([2.5000e-01, 4.2484e-18]),)
    """
    return narrow(logistic(wide(input)), input)


@sigmoid.grad("input")
def _(g: torch.Tensor, input: torch.Tensor) -> torch.Tensor:
    return g * logistic_slope(wide(input))


@entry(
    FAMILY,
    "softplus(beta * x) / beta",
    slope="sigmoid(beta * x)",
    source="Dugas, Bengio, Bélisle, Nadeau, Garcia 2001, NIPS 13",
    module="Softplus",
    torch="nn.functional.softplus",
)
@function
def softplus(input: torch.Tensor, beta: float = 1.0, threshold: float = 20.0) -> torch.Tensor:
    """log(1 + exp(βx)) / β.

    Args:
        input: Any tensor of real numbers.
        beta: The sharpness.
        threshold: Accepted, as PyTorch has it. The result is exact on both sides of it.

    Example:
        >>> softplus(torch.tensor([-50.0, 0.0, 50.0]))
        tensor([1.9287e-22, 6.9315e-01, 5.0000e+01])
    """
    positive("softplus", "beta", beta)
    x = beta * wide(input)
    return narrow((torch.where(x > 0, x, 0.0) + torch.log1p(torch.exp(folded(x)))) / beta, input)


@softplus.grad("input")
def _(g: torch.Tensor, input: torch.Tensor, beta: float) -> torch.Tensor:
    return g * logistic(beta * wide(input))


@entry(
    FAMILY,
    "x / (1 + abs(x))",
    slope="square(1 / (1 + abs(x)))",
    source="Turian, Bergstra, Bengio 2009, NAACL",
    module="Softsign",
    torch="nn.functional.softsign",
    kinks={0.0: (0.0, 1.0)},
)
@function
def softsign(input: torch.Tensor) -> torch.Tensor:
    """x / (1 + |x|); ±1 at ±∞.

    Example:
        >>> softsign(torch.tensor([-1.0, 0.0, 3.0]))
        tensor([-0.5000,  0.0000,  0.7500])
    """
    x = wide(input).clamp(-1e38, 1e38)
    return narrow(x / (1 - folded(x)), input)


@softsign.grad("input")
def _(g: torch.Tensor, input: torch.Tensor) -> torch.Tensor:
    root = 1 / (1 + wide(input).abs())
    return g * (root * root)


@entry(
    FAMILY,
    "-softplus(-x)",
    slope="sigmoid(-x)",
    source="logarithm of the logistic function",
    module="LogSigmoid",
    torch="nn.functional.logsigmoid",
)
@function
def logsigmoid(input: torch.Tensor) -> torch.Tensor:
    """log(σ(x)).

    Example:
        >>> logsigmoid(torch.tensor([-50.0, 0.0, 50.0]))
        tensor([-5.0000e+01, -6.9315e-01, -1.9287e-22])
    """
    x = wide(input)
    return narrow(torch.where(x < 0, x, 0.0) - torch.log1p(torch.exp(folded(x))), input)


@logsigmoid.grad("input")
def _(g: torch.Tensor, input: torch.Tensor) -> torch.Tensor:
    return g * logistic(-wide(input))


def shrink_near_zero(x: torch.Tensor) -> torch.Tensor:
    """x - tanh(x) for |x| ≤ 1, without cancellation: (x·cosh(x) - sinh(x)) / cosh(x) by its series."""
    t = x * x
    series = 1 / 3 + t * (1 / 30 + t * (1 / 840 + t * (1 / 45360 + t * (1 / 3991680 + t * (
        1 / 518918400 + t * (1 / 93405312000 + t * (1 / 22230464256000 + t / 6758061133824000)))))))  # fmt: skip
    cosh = 1 + t * (1 / 2 + t * (1 / 24 + t * (1 / 720 + t * (1 / 40320 + t * (1 / 3628800 + t * (
        1 / 479001600 + t * (1 / 87178291200 + t * (1 / 20922789888000 + t / 6402373705728000))))))))  # fmt: skip
    return x * t * series / cosh


@entry(
    FAMILY,
    "tanh_shrink(x)",
    text="x - tanh(x)",
    slope="square(tanh(x))",
    source="PyTorch",
    module="Tanhshrink",
    torch="nn.functional.tanhshrink",
)
@function
def tanhshrink(input: torch.Tensor) -> torch.Tensor:
    """x - tanh(x).

    Example:
        >>> tanhshrink(torch.tensor([0.001, 1.0]))  # torch: 3.4925e-10
        tensor([3.3333e-10, 2.3841e-01])
    """
    x = wide(input)
    small = x.abs() < 1
    return narrow(torch.where(small, shrink_near_zero(torch.where(small, x, 0.0)), x - torch.tanh(x)), input)


@tanhshrink.grad("input")
def _(g: torch.Tensor, input: torch.Tensor) -> torch.Tensor:
    t = tangent(wide(input))
    return g * (t * t)


@entry(FAMILY, "erf(x)", slope="2 / sqrt(pi) * exp(-x * x)", source="error function", torch="erf")
@function
def erf(input: torch.Tensor) -> torch.Tensor:
    """The error function.

    Example:
        >>> erf(torch.tensor([0.0, 0.5, 4.0]))
        tensor([0.0000, 0.5205, 1.0000])
    """
    return narrow(torch.erf(wide(input)), input)


@erf.grad("input")
def _(g: torch.Tensor, input: torch.Tensor) -> torch.Tensor:
    x = wide(input)
    return g * (1.1283791670955126 * torch.exp(-x * x))


@entry(
    FAMILY,
    "log_cosh(x)",
    text="log(cosh(x))",
    slope="tanh(x)",
    source="Saleh, Saleh 2022, arXiv:2208.04564",
    module="LogCosh",
)
@function
def logcosh(input: torch.Tensor) -> torch.Tensor:
    """log(cosh(x)), a smooth |x| - log(2).

    Example:
        >>> logcosh(torch.tensor([1e-4, 1.0, 100.0]))
        tensor([5.0000e-09, 4.3378e-01, 9.9307e+01])
    """
    f = folded(wide(input))
    m, near = torch.expm1(f), f > -1  # cosh(x) - 1 = m²/(2·exp(f)) without cancellation, and exp(f) = 1 + m
    inner = torch.where(near, m * m / (2 * torch.where(near, 1 + m, 1.0)), (1 + m) * (1 + m))
    return narrow(torch.log1p(inner) - torch.where(near, 0.0, f + 0.6931471805599453), input)


@logcosh.grad("input")
def _(g: torch.Tensor, input: torch.Tensor) -> torch.Tensor:
    return g * tangent(wide(input))
