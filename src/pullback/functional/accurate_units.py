"""Linear units and their like with values and gradients that keep all their digits: names and signatures of PyTorch.

Each computes in float64 for float32, and in float32 for 16 bits. PyTorch's gelu is x·(1 + erf(x/√2))/2, which loses
all digits on the left.
"""

from __future__ import annotations

import torch

from pullback.define.decorate import function
from pullback.errors import UsageError
from pullback.functional.cores import (
    folded,
    gelu_slope,
    logistic,
    logistic_pair,
    negative,
    normal_cdf,
    silu_slope,
)
from pullback.functional.limits import positive
from pullback.functional.record import entry
from pullback.functional.wide import narrow, wide

FAMILY = "accurate"
SELU = "Klambauer, Unterthiner, Mayr, Hochreiter 2017, arXiv:1706.02515"


def not_in_place(name: str, inplace: bool) -> None:
    """Refuse ``inplace=True``: the input is what the gradient is computed from."""
    if inplace:
        raise UsageError(name, "works out of place", "inplace=True", f"write x = {name}(x), or use torch's")


@entry(
    FAMILY,
    "x * sigmoid(x)",
    slope="sigmoid(x) * (1 + x * sigmoid(-x))",
    source="Elfwing, Uchibe, Doya 2017, arXiv:1702.03118",
    module="SiLU",
    torch="nn.functional.silu",
)
@function
def silu(input: torch.Tensor, inplace: bool = False) -> torch.Tensor:
    """x·σ(x), the sigmoid linear unit; 0 at -∞.

    Example:
        >>> silu(torch.tensor([-100.0, 0.0, 1.0]))
        tensor([-3.7204e-42,  0.0000e+00,  7.3106e-01])
    """
    not_in_place("silu", inplace)
    x = wide(input)
    return narrow(x.clamp(min=-800) * logistic(x), input)


@silu.grad("input")
def _(g: torch.Tensor, input: torch.Tensor) -> torch.Tensor:
    return g * silu_slope(wide(input))


@entry(
    FAMILY,
    "x * Phi(x)",
    slope="Phi(x) + x * phi(x)",
    source="Hendrycks, Gimpel 2016, arXiv:1606.08415",
    module="GELU",
    torch="nn.functional.gelu",
)
@function
def gelu(input: torch.Tensor, approximate: str = "none") -> torch.Tensor:
    """x·Φ(x), the Gaussian error linear unit, or its approximation by tanh.

    Args:
        input: Any tensor of real numbers.
        approximate: ``"none"``, or ``"tanh"`` for `gelu_tanh`.

    Example:
        >>> gelu(torch.tensor([-8.0, 0.0, 1.0]))
        tensor([-4.9768e-15,  0.0000e+00,  8.4134e-01])
    """
    if approximate == "tanh":
        return gelu_tanh(input)
    if approximate != "none":
        raise UsageError("gelu", "approximate is 'none' or 'tanh'", repr(approximate), "give one of them")
    x = wide(input)
    return narrow(x.clamp(min=-40) * normal_cdf(x), input)


@gelu.grad("input")
def _(g: torch.Tensor, input: torch.Tensor, approximate: str) -> torch.Tensor:
    return g * (gelu_tanh_slope(wide(input)) if approximate == "tanh" else gelu_slope(wide(input)))


def inside_tanh(x: torch.Tensor) -> torch.Tensor:
    """Twice the argument of tanh, bounded where the result is."""
    x = x.clamp(-40, 40)
    return 1.5957691216057308 * x * (1 + 0.044715 * x * x)


def gelu_tanh_slope(x: torch.Tensor) -> torch.Tensor:
    """The derivative of x·σ(2u(x))."""
    x = x.clamp(-40, 40)
    u = inside_tanh(x)
    inner = 1.5957691216057308 * x * (1 + 0.134145 * x * x)
    s, t = logistic_pair(u)
    return s * (1 + inner * t)


@entry(
    FAMILY,
    "x * sigmoid(sqrt(8 / pi) * x * (1 + 0.044715 * x * x))",
    slope="gated_slope(sqrt(8 / pi) * x * (1 + 0.044715 * x * x), sqrt(8 / pi) * x * (1 + 0.134145 * x * x))",
    source="Hendrycks, Gimpel 2016, arXiv:1606.08415",
)
@function
def gelu_tanh(input: torch.Tensor) -> torch.Tensor:
    """The approximation of gelu by tanh, ``gelu(x, approximate="tanh")``.

    Example:
        >>> gelu_tanh(torch.tensor([-4.0, 0.0, 1.0]))
        tensor([-7.0246e-05,  0.0000e+00,  8.4119e-01])
    """
    x = wide(input)
    return narrow(x.clamp(min=-40) * logistic(inside_tanh(x)), input)


@gelu_tanh.grad("input")
def _(g: torch.Tensor, input: torch.Tensor) -> torch.Tensor:
    return g * gelu_tanh_slope(wide(input))


def mish_gate(x: torch.Tensor) -> torch.Tensor:
    """tanh(softplus(x)) as a ratio of polynomials in exp(-|x|)."""
    e = torch.exp(folded(x))
    return torch.where(x < 0, e * (2 + e), 1 + 2 * e) / torch.where(x < 0, 2 + e * (2 + e), 1 + 2 * e * (1 + e))


def mish_slope(x: torch.Tensor) -> torch.Tensor:
    """The derivative of x·tanh(softplus(x))."""
    x = x.clamp(-800, 800)
    e = torch.exp(folded(x))
    root = torch.where(x < 0, 2 + e * (2 + e), 1 + 2 * e * (1 + e))
    return mish_gate(x) + x * torch.where(x < 0, e, e * e) * (1 + e) / (root * root) * 4


@entry(
    FAMILY,
    "x * tanh(softplus(x))",
    slope="tanh(softplus(x)) + x * sech2(softplus(x)) * sigmoid(x)",
    source="Misra 2019, arXiv:1908.08681",
    module="Mish",
    torch="nn.functional.mish",
)
@function
def mish(input: torch.Tensor, inplace: bool = False) -> torch.Tensor:
    """x·tanh(softplus(x)); 0 at -∞.

    Example:
        >>> mish(torch.tensor([-20.0, 0.0, 1.0]))
        tensor([-4.1223e-08,  0.0000e+00,  8.6510e-01])
    """
    not_in_place("mish", inplace)
    x = wide(input)
    return narrow(x.clamp(min=-800) * mish_gate(x), input)


@mish.grad("input")
def _(g: torch.Tensor, input: torch.Tensor) -> torch.Tensor:
    return g * mish_slope(wide(input))


@entry(
    FAMILY,
    "where(x > 0, x, alpha * expm1(min(x, 0)))",
    slope="where(x > 0, 1, alpha * exp(min(x, 0)))",
    source="Clevert, Unterthiner, Hochreiter 2015, arXiv:1511.07289",
    module="ELU",
    torch="nn.functional.elu",
    kinks={0.0: (0.0, 1.0)},
)
@function
def elu(input: torch.Tensor, alpha: float = 1.0, inplace: bool = False) -> torch.Tensor:
    """x where positive, else α·(exp(x) - 1); the gradient at 0 is α.

    Example:
        >>> elu(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([-0.6321,  0.0000,  2.0000])
    """
    not_in_place("elu", inplace)
    x = wide(input)
    return narrow(torch.where(x > 0, x, alpha * torch.expm1(negative(x))), input)


@elu.grad("input")
def _(g: torch.Tensor, input: torch.Tensor, alpha: float) -> torch.Tensor:
    x = wide(input)
    return g * torch.where(x > 0, 1.0, alpha * torch.exp(negative(x)))


@entry(
    FAMILY,
    "1.0507009873554805 * where(x > 0, x, 1.6732632423543772 * expm1(min(x, 0)))",
    slope="1.0507009873554805 * where(x > 0, 1, 1.6732632423543772 * exp(min(x, 0)))",
    source=SELU,
    module="SELU",
    torch="nn.functional.selu",
    kinks={0.0: (0.0, 1.7580993408473766)},
)
@function
def selu(input: torch.Tensor, inplace: bool = False) -> torch.Tensor:
    """λ·elu(x, α) with the constants that keep mean and variance.

    Example:
        >>> selu(torch.tensor([-1.0, 0.0, 1.0]))
        tensor([-1.1113,  0.0000,  1.0507])
    """
    not_in_place("selu", inplace)
    x = wide(input)
    return narrow(1.0507009873554805 * torch.where(x > 0, x, 1.6732632423543772 * torch.expm1(negative(x))), input)


@selu.grad("input")
def _(g: torch.Tensor, input: torch.Tensor) -> torch.Tensor:
    x = wide(input)
    return g * (1.0507009873554805 * torch.where(x > 0, 1.0, 1.6732632423543772 * torch.exp(negative(x))))


@entry(
    FAMILY,
    "where(x > 0, x, alpha * expm1(min(x, 0) / alpha))",
    slope="where(x > 0, 1, exp(min(x, 0) / alpha))",
    source="Barron 2017, arXiv:1704.07483",
    module="CELU",
    torch="nn.functional.celu",
    kinks={0.0: (0.0, 1.0)},
)
@function
def celu(input: torch.Tensor, alpha: float = 1.0, inplace: bool = False) -> torch.Tensor:
    """x where positive, else α·(exp(x/α) - 1).

    Example:
        >>> celu(torch.tensor([-1.0, 0.0, 1.0]), alpha=2.0)
        tensor([-0.7869,  0.0000,  1.0000])
    """
    not_in_place("celu", inplace)
    positive("celu", "alpha", alpha)
    x = wide(input)
    return narrow(torch.where(x > 0, x, alpha * torch.expm1(negative(x) / alpha)), input)


@celu.grad("input")
def _(g: torch.Tensor, input: torch.Tensor, alpha: float) -> torch.Tensor:
    x = wide(input)
    return g * torch.where(x > 0, 1.0, torch.exp(negative(x) / alpha))


@entry(
    FAMILY,
    "where(x >= 3, x, where(x > -3, x * (x + 3) / 6, 0))",
    slope="where(x >= 3, 1, where(x > -3, (2 * x + 3) / 6, 0))",
    source="Howard et al. 2019, arXiv:1905.02244",
    module="Hardswish",
    torch="nn.functional.hardswish",
    kinks={-3.0: (0.0, 0.0), 3.0: (3.0, 1.0)},
)
@function
def hardswish(input: torch.Tensor, inplace: bool = False) -> torch.Tensor:
    """x·clamp(x + 3, 0, 6) / 6, also where 6·x overflows.

    Example:
        >>> hardswish(torch.tensor([0.0, 1.0, 3.0]))
        tensor([0.0000, 0.6667, 3.0000])
    """
    not_in_place("hardswish", inplace)
    x = wide(input)
    c = x.clamp(-3, 3)
    return narrow(torch.where(x >= 3, x, c * (c + 3) / 6), input)


@hardswish.grad("input")
def _(g: torch.Tensor, input: torch.Tensor) -> torch.Tensor:
    x = wide(input)
    return g * torch.where(x >= 3, 1.0, torch.where(x <= -3, 0.0, (2 * x + 3) / 6))
