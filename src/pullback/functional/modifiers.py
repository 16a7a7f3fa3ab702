"""Gradient modifiers: the value is x itself, and what comes back is changed.

Tangents of forward mode pass unchanged through those that are not linear in the cotangent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from pullback.define.decorate import function
from pullback.functional.limits import not_negative, positive
from pullback.functional.record import entry
from pullback.functional.wide import upcast

FAMILY = "modifier"
ITSELF = "its result is x itself"


@entry(
    FAMILY,
    "x",
    gradient={"x": "g * factor"},
    source="Caruana 1997, Machine Learning 28 (weights of tasks)",
    module="ScaleGradient",
    unfused=ITSELF,
)
@function
def scale_gradient(x: torch.Tensor, factor: float = 1.0) -> torch.Tensor:
    """x, with its gradient times a factor: a learning rate for a part of a network.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> torch.autograd.grad(scale_gradient(x, 0.1).sum(), x)
        (tensor([0.1000, 0.1000]),)
    """
    return x


@scale_gradient.grad("x", surrogate=True)
def _(g: torch.Tensor, factor: float) -> torch.Tensor:
    return g * factor


@entry(
    FAMILY,
    "x",
    gradient={"x": "-g * strength"},
    source="Ganin, Lempitsky 2014, arXiv:1409.7495",
    module="ReverseGradient",
    unfused=ITSELF,
)
@function
def reverse_gradient(x: torch.Tensor, strength: float = 1.0) -> torch.Tensor:
    """x, with its gradient reversed: what follows descends, what comes before ascends.

    `pullback.nn.ReverseGradient` has a schedule for the strength.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> torch.autograd.grad(reverse_gradient(x, 0.5).sum(), x)
        (tensor([-0.5000, -0.5000]),)
    """
    return x


@reverse_gradient.grad("x", surrogate=True)
def _(g: torch.Tensor, strength: float) -> torch.Tensor:
    return -g * strength


@entry(
    FAMILY,
    "x",
    gradient={"x": "clamp(g, -bound, bound)"},
    source="Graves 2013, arXiv:1308.0850",
    module="ClipGradient",
    unfused=ITSELF,
)
@function
def clip_gradient(x: torch.Tensor, bound: float = 1.0) -> torch.Tensor:
    """x, with each element of its gradient between ±bound.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> torch.autograd.grad((clip_gradient(x, 1.0) * torch.tensor([0.5, -7.0])).sum(), x)
        (tensor([ 0.5000, -1.0000]),)
    """
    not_negative("clip_gradient", "bound", bound)
    return x


@clip_gradient.grad("x", surrogate=True)
def _(g: torch.Tensor, bound: float) -> torch.Tensor:
    return -(-g.clamp(max=bound)).clamp(max=bound)  # without -bound, which a kernel would have to keep


@entry(
    FAMILY,
    "x",
    gradient={"x": "g * min(1, max_norm / abs(g))"},
    source="Pascanu, Mikolov, Bengio 2012, arXiv:1211.5063",
    module="ClipGradientNorm",
    unfused="a norm of all elements comes before the result",
)
@function
def clip_gradient_norm(x: torch.Tensor, max_norm: float = 1.0, dim: int | tuple[int, ...] | None = None) -> Any:
    """x, with its gradient shortened to a norm of at most ``max_norm``.

    Args:
        x: Any tensor.
        max_norm: The greatest norm.
        dim: The dimensions that one norm is taken over; all of them if not given.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> torch.autograd.grad((clip_gradient_norm(x, 1.0) * torch.tensor([3.0, -4.0])).sum(), x)
        (tensor([ 0.6000, -0.8000]),)
    """
    positive("clip_gradient_norm", "max_norm", max_norm)
    return x


@clip_gradient_norm.grad("x", surrogate=True)
def _(g: torch.Tensor, max_norm: float, dim: Any) -> Any:
    length = torch.linalg.vector_norm(upcast(g), dim=dim, keepdim=True)
    return g * (max_norm / length.clamp(min=max_norm))


@entry(
    FAMILY,
    "x",
    gradient={"x": "sign(g)"},
    source="Riedmiller, Braun 1993, ICNN (Rprop)",
    module="SignGradient",
    unfused=ITSELF,
)
@function
def sign_gradient(x: torch.Tensor) -> torch.Tensor:
    """x, with the sign of its gradient only.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> torch.autograd.grad((sign_gradient(x) * torch.tensor([0.5, -7.0])).sum(), x)
        (tensor([ 1., -1.]),)
    """
    return x


@sign_gradient.grad("x", surrogate=True)
def _(g: torch.Tensor) -> torch.Tensor:
    return torch.sign(g)


@entry(
    FAMILY,
    "x",
    gradient={"x": "g"},
    text="x",
    source="Neelakantan et al. 2015, arXiv:1511.06807",
    random=True,
    module="NoiseGradient",
    unfused="random numbers are PyTorch's",
)
@function
def noise_gradient(x: torch.Tensor, std: float = 0.0) -> torch.Tensor:
    """x, with normal noise added to its gradient.

    Example:
        >>> x = torch.zeros(3, requires_grad=True)
        >>> torch.autograd.grad(noise_gradient(x, 0.1).sum(), x)[0].shape
        torch.Size([3])
    """
    not_negative("noise_gradient", "std", std)
    return x


@noise_gradient.grad("x", surrogate=True)
def _(g: torch.Tensor, std: float) -> torch.Tensor:
    return g + std * torch.randn_like(g)


@entry(
    FAMILY,
    "x",
    gradient={"x": "0"},
    source="torch.Tensor.detach, which no transform sees",
    module="StopGradient",
    unfused=ITSELF,
)
@function
def stop_gradient(x: torch.Tensor) -> torch.Tensor:
    """x, with a gradient of zero: a constant for all that comes before.

    Example:
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> torch.autograd.grad(x * stop_gradient(x), x)
        (tensor(3.),)
    """
    return x


@stop_gradient.grad("x", constant=True, surrogate=True)
def _(g: torch.Tensor) -> None:
    return None


@entry(
    FAMILY,
    "x",
    gradient={"x": "g"},
    source="hooks of torch.Tensor, as a layer",
    module="LogGradient",
    unfused="it calls a function of Python",
)
@function
def log_gradient(x: torch.Tensor, log: Callable[[torch.Tensor], object] = print) -> torch.Tensor:
    """x; backward calls ``log`` with the gradient, detached. In eager code only.

    Example:
        >>> seen = []
        >>> x = torch.ones(2, requires_grad=True)
        >>> log_gradient(x, seen.append).sum().backward(); seen
        [tensor([1., 1.])]
    """
    return x


@log_gradient.grad("x", surrogate=True)
def _(g: torch.Tensor, log: Callable[[torch.Tensor], object]) -> torch.Tensor:
    log(g.detach())
    return g


@stop_gradient.jvp
def _(t: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(t)


def unchanged(t: torch.Tensor) -> torch.Tensor:
    """The tangent, as it comes."""
    return t


for nonlinear in (clip_gradient, clip_gradient_norm, sign_gradient, noise_gradient, log_gradient):
    nonlinear.jvp(unchanged)
