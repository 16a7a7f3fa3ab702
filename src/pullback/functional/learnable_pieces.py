"""Activations in pieces that learn: parameters are arguments, scalars or tensors that broadcast with the input."""

from __future__ import annotations

import torch

from pullback.define.decorate import function
from pullback.define.keep import keep
from pullback.functional.record import Parameter, entry
from pullback.functional.wide import narrow, upcast

FAMILY = "learnable"


@entry(
    FAMILY,
    "min(max(x, low), high)",
    parameters={"low": Parameter(-1.0), "high": Parameter(1.0)},
    source="clamp with learned thresholds",
    module="LearnableClamp",
    kinks={-1.0: (-1.0, 1.0), 1.0: (1.0, 1.0)},
)
@function
def learnable_clamp(x: torch.Tensor, low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    """x between two learned thresholds; ``high`` wins where training makes them cross.

    Example:
        >>> learnable_clamp(torch.tensor([-2.0, 0.5, 2.0]), torch.tensor(-1.0), torch.tensor(1.0))
        tensor([-1.0000,  0.5000,  1.0000])
    """
    below = (x < low) & (low <= high)
    above = torch.maximum(x, low) > high
    return keep(torch.where(above, high, torch.where(below, low, x)).to(x.dtype), below=below, above=above)


@learnable_clamp.grad("x")
def _(g: torch.Tensor, below: torch.Tensor, above: torch.Tensor) -> torch.Tensor:
    return g * ~(below | above)


@learnable_clamp.grad("low")
def _(g: torch.Tensor, below: torch.Tensor) -> torch.Tensor:
    return g * below


@learnable_clamp.grad("high")
def _(g: torch.Tensor, above: torch.Tensor) -> torch.Tensor:
    return g * above


@entry(
    FAMILY,
    "min(max(x, 0), alpha)",
    parameters={"alpha": Parameter(6.0, above=0.0)},
    source="Choi et al. 2018, arXiv:1805.06085",
    module="PACT",
    kinks={0.0: (0.0, 0.0)},
)
@function
def pact(x: torch.Tensor, alpha: torch.Tensor) -> torch.Tensor:
    """x clipped to [0, α] with a learned bound; at α itself the gradient goes to α.

    Example:
        >>> pact(torch.tensor([-1.0, 2.0, 9.0]), torch.tensor(6.0))
        tensor([0., 2., 6.])
    """
    above = x >= alpha
    inside = (x > 0) & ~above
    return keep(torch.where(above, alpha, torch.where(inside, x, 0.0)).to(x.dtype), inside=inside, above=above)


@pact.grad("x")
def _(g: torch.Tensor, inside: torch.Tensor) -> torch.Tensor:
    return g * inside


@pact.grad("alpha")
def _(g: torch.Tensor, above: torch.Tensor) -> torch.Tensor:
    return g * above


def per_channel(weight: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """A vector of weights in the shape that broadcasts along dimension 1 of ``x``, as PReLU has it."""
    return weight.reshape(-1, *(1,) * (x.dim() - 2)) if weight.dim() == 1 and x.dim() > 2 else weight


@entry(
    FAMILY,
    "where(x > 0, x, weight * x)",
    parameters={"weight": Parameter(0.25)},
    source="He, Zhang, Ren, Sun 2015, arXiv:1502.01852",
    module="PReLU",
    torch="nn.functional.prelu",
    kinks={0.0: (0.0, 0.25)},
)
@function
def prelu(input: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """x where positive, else w·x; a vector of weights belongs to dimension 1.

    Example:
        >>> prelu(torch.tensor([-4.0, 1.0]), torch.tensor([0.25]))
        tensor([-1.,  1.])
    """
    return torch.where(input > 0, input, per_channel(weight, input) * input).to(input.dtype)


@prelu.grad("input")
def _(g: torch.Tensor, input: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return torch.where(input > 0, g, per_channel(weight, input) * g)


@prelu.grad("weight")
def _(g: torch.Tensor, input: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    each = torch.where(input > 0, 0.0, upcast(g * input))
    return each.movedim(1, -1) if weight.dim() == 1 and input.dim() > 2 else each


@entry(
    FAMILY,
    "scale * square(relu(x)) + bias",
    parameters={"scale": Parameter(0.8944), "bias": Parameter(-0.4472)},
    source="Yu et al. 2022 (MetaFormer baselines), arXiv:2210.13452",
    module="StarReLU",
    kinks={0.0: (-0.4472, 0.0)},
)
@function
def star_relu(x: torch.Tensor, scale: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """s·relu(x)² + b: mean 0 and variance 1 for normal inputs at first.

    Example:
        >>> star_relu(torch.tensor([-1.0, 2.0]), torch.tensor(0.5), torch.tensor(-1.0))
        tensor([-1.,  1.])
    """
    return narrow(scale * torch.relu(upcast(x)).square() + bias, x)


@star_relu.grad("x")
def _(g: torch.Tensor, x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return g * (2 * scale * torch.relu(upcast(x)))


@star_relu.grad("scale")
def _(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return g * torch.relu(upcast(x)).square()


@star_relu.grad("bias")
def _(g: torch.Tensor) -> torch.Tensor:
    return upcast(g)


@entry(
    FAMILY,
    "where(x >= beta, x, where(x > -beta, square(x + beta) / (4 * beta), 0))",
    parameters={"beta": Parameter(1.0, above=0.0)},
    source="Shamir, Lin, Coviello 2020, arXiv:2010.09931; Shamir, Lin 2022, arXiv:2202.06499",
    module="SMeLU",
    kinks={-1.0: (0.0, 0.0), 1.0: (1.0, 1.0)},
)
@function
def smelu(x: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    """Relu with a parabola of half-width β in its corner.

    Example:
        >>> smelu(torch.tensor([-1.0, 0.0, 2.0]), torch.tensor(1.0))
        tensor([0.0000, 0.2500, 2.0000])
    """
    w = upcast(x)
    corner = torch.minimum(w, beta + 0 * w) + beta
    return narrow(torch.where(w >= beta, w, torch.relu(corner).square() / (4 * beta)), x)


@smelu.grad("x")
def _(g: torch.Tensor, x: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    return g * ((upcast(x) + beta) / (2 * beta)).clamp(0, 1)


@smelu.grad("beta")
def _(g: torch.Tensor, x: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    ratio = upcast(x) / beta
    return g * torch.where(ratio.abs() < 1, (1 - ratio) * (1 + ratio) / 4, 0.0)


@entry(
    FAMILY,
    "beta * x + where(x > 0, alpha_p * x * x, alpha_n * (expm1(min(x, 0)) - x))",
    parameters={"alpha_p": Parameter(0.8, above=0.0), "alpha_n": Parameter(0.8, above=0.5)},
    source="Huang, Schlag 2024, arXiv:2411.13010",
    module="XIELU",
    kinks={0.0: (0.0, 0.5)},
)
@function
def xielu(x: torch.Tensor, alpha_p: torch.Tensor, alpha_n: torch.Tensor, beta: float = 0.5) -> torch.Tensor:
    """The integral of an ELU: αₚx² + βx where positive, else αₙ(exp(x) - 1 - x) + βx.

    Example:
        >>> xielu(torch.tensor([-1.0, 0.0, 1.0]), torch.tensor(0.8), torch.tensor(0.8))
        tensor([-0.2057,  0.0000,  1.3000])
    """
    w = upcast(x)
    n = torch.where(w > 0, 0.0, w)
    return narrow(beta * w + torch.where(w > 0, alpha_p * w * w, alpha_n * (torch.expm1(n) - n)), x)


@xielu.grad("x")
def _(g: torch.Tensor, x: torch.Tensor, alpha_p: torch.Tensor, alpha_n: torch.Tensor, beta: float) -> torch.Tensor:
    w = upcast(x)
    n = torch.where(w > 0, 0.0, w)
    return g * (beta + torch.where(w > 0, 2 * alpha_p * w, alpha_n * torch.expm1(n)))


@xielu.grad("alpha_p")
def _(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return g * torch.relu(upcast(x)).square()


@xielu.grad("alpha_n")
def _(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    n = upcast(x).clamp(max=0)
    return g * (torch.expm1(n) - n)
