"""Safe maths: the values of PyTorch, and gradients that are finite at every finite input.

The gradient is the derivative where that is finite, else its limit or a subgradient: zero. A masked or padded element
then stays harmless, where plain code makes it NaN.
"""

from __future__ import annotations

from typing import Any

import torch

from pullback.define.decorate import function
from pullback.functional.record import entry
from pullback.functional.wide import narrow, upcast

FAMILY = "safe"
WHERE = "the double where, JAX FAQ; tfp.math"


def inverse(x: torch.Tensor) -> torch.Tensor:
    """1/x, and 0 at 0."""
    zero = x == 0
    return torch.where(zero, 0.0, 1 / torch.where(zero, 1.0, x))


def root(x: torch.Tensor) -> torch.Tensor:
    """√x, and 0 with a derivative of 0 where x is not positive."""
    positive = x > 0
    return torch.where(positive, torch.sqrt(torch.where(positive, x, 1.0)), 0.0)


@entry(FAMILY, "sqrt(x)", domain=(0.1, 4.0), source=WHERE, kinks={0.0: (0.0, 0.0)})
@function
def safe_sqrt(x: torch.Tensor) -> torch.Tensor:
    """√x, with a gradient of 0 at 0 and below.

    Example:
        >>> x = torch.tensor([0.0, 4.0], requires_grad=True)
        >>> torch.autograd.grad(safe_sqrt(x).sum(), x)
        (tensor([0.0000, 0.2500]),)
    """
    return torch.sqrt(x)


@safe_sqrt.grad("x")
def _(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return g * (0.5 * inverse(root(upcast(x))))


@entry(FAMILY, "log(x)", domain=(0.1, 4.0), source=WHERE, kinks={0.0: (float("-inf"), 0.0)})
@function
def safe_log(x: torch.Tensor) -> torch.Tensor:
    """log(x), -∞ at 0 with a gradient of 0.

    Example:
        >>> x = torch.tensor([0.0, 4.0], requires_grad=True)
        >>> torch.autograd.grad(safe_log(x).sum(), x)
        (tensor([0.0000, 0.2500]),)
    """
    return torch.log(x)


@safe_log.grad("x")
def _(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return g * inverse(upcast(x))


def finite_log(x: torch.Tensor) -> torch.Tensor:
    """log(x) where x is positive, else 0."""
    positive = x > 0
    return torch.where(positive, torch.log(torch.where(positive, x, 1.0)), 0.0)


@entry(FAMILY, "where(x == 0, 0, x * log(y))", domain=(0.1, 4.0), source="torch.xlogy")
@function
def safe_xlogy(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """x·log(y), 0 where x is; where y is 0 the gradients are.

    Example:
        >>> x, y = torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)
        >>> torch.autograd.grad(safe_xlogy(x, y), (x, y))
        (tensor([0.]), tensor([0.]))
    """
    return torch.xlogy(x, y)


@safe_xlogy.grad("x")
def _(g: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return g * finite_log(upcast(y))


@safe_xlogy.grad("y")
def _(g: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return g * (upcast(x) * inverse(upcast(y)))


@entry(FAMILY, "x**exponent", domain=(0.1, 4.0), source="torch.pow")
@function
def safe_pow(x: torch.Tensor, exponent: torch.Tensor | float) -> torch.Tensor:
    """x to a power; where x is 0, or negative for the exponent, gradients that are not finite are 0.

    Args:
        x: Any tensor of real numbers.
        exponent: A number, or a tensor that broadcasts with x.

    Example:
        >>> x = torch.tensor([0.0, 4.0], requires_grad=True)
        >>> torch.autograd.grad(safe_pow(x, 0.5).sum(), x)
        (tensor([0.0000, 0.2500]),)
    """
    return torch.pow(x, exponent)


@safe_pow.grad("x")
def _(g: torch.Tensor, x: torch.Tensor, exponent: torch.Tensor | float) -> torch.Tensor:
    w, e = upcast(x), torch.as_tensor(exponent)
    bad = ((w == 0) & (e < 1)) | ((w < 0) & (e != torch.round(e)))
    return g * (exponent * torch.where(bad, 0.0, safe_pow(torch.where(bad, 1.0, w), exponent - 1)))


@safe_pow.grad("exponent")
def _(g: torch.Tensor, x: torch.Tensor, exponent: torch.Tensor) -> torch.Tensor:
    w = upcast(x)
    positive = w > 0
    inside = torch.where(positive, w, 1.0)
    return g * torch.where(positive, torch.pow(inside, exponent) * torch.log(inside), 0.0)


def chord(x: torch.Tensor) -> torch.Tensor:
    """1/√(1 - x²) within ±1, else 0."""
    inside = x.abs() < 1
    w = torch.where(inside, x, 0.0)
    return torch.where(inside, torch.rsqrt((1 - w) * (1 + w)), 0.0)


@entry(FAMILY, "acos(clamp(x, -1, 1))", domain=(-0.9, 0.9), source=WHERE, kinks={1.0: (0.0, 0.0)})
@function
def safe_acos(x: torch.Tensor) -> torch.Tensor:
    """The angle whose cosine is x, which may have been rounded beyond ±1; the gradient there is 0.

    Example:
        >>> x = torch.tensor([0.0, 1.0], requires_grad=True)
        >>> torch.autograd.grad(safe_acos(x).sum(), x)
        (tensor([-1., -0.]),)
    """
    return torch.acos(x.clamp(-1, 1))


@safe_acos.grad("x")
def _(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return -g * chord(upcast(x))


@entry(FAMILY, "asin(clamp(x, -1, 1))", domain=(-0.9, 0.9), source=WHERE)
@function
def safe_asin(x: torch.Tensor) -> torch.Tensor:
    """The angle whose sine is x, which may have been rounded beyond ±1; the gradient there is 0.

    Example:
        >>> x = torch.tensor([0.0, 1.0], requires_grad=True)
        >>> torch.autograd.grad(safe_asin(x).sum(), x)
        (tensor([1., 0.]),)
    """
    return torch.asin(x.clamp(-1, 1))


@safe_asin.grad("x")
def _(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return g * chord(upcast(x))


@entry(FAMILY, "atan2(y, x)", source="torch.atan2")
@function
def safe_atan2(y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The angle of the point (x, y); the gradients at the origin are 0, and near it they do not underflow.

    Example:
        >>> y, x = torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)
        >>> torch.autograd.grad(safe_atan2(y, x), (y, x))
        (tensor([0.]), tensor([0.]))
    """
    return torch.atan2(y, x)


@safe_atan2.grad("y", "x")
def _(g: torch.Tensor, y: torch.Tensor, x: torch.Tensor) -> Any:
    v, w = torch.broadcast_tensors(upcast(y), upcast(x))
    zero = (v == 0) & (w == 0)
    top = torch.where(zero, 1.0, torch.maximum(v.abs(), w.abs()))
    a, b = v / top, w / top  # whose squares neither overflow nor vanish together
    u = g / top / torch.where(zero, 1.0, a * a + b * b)
    return u * b, torch.where(zero, 0.0, -u * a)


def sinc_slope(x: torch.Tensor) -> torch.Tensor:
    """The derivative of sin(πx)/(πx); its series where |x| is small."""
    small = x.abs() < 0.1
    near, far = torch.where(small, x, 0.0), torch.where(small, 1.0, x)
    t = (near * 3.141592653589793) ** 2
    series = -1 / 3 + t * (1 / 30 + t * (-1 / 840 + t * (1 / 45360 + t * (-1 / 3991680 + t / 518918400))))
    pi = 3.141592653589793
    w = pi * far
    return torch.where(small, pi * pi * near * series, (torch.cos(w) - torch.sin(w) / w) / far)


@entry(FAMILY, "where(x == 0, 1, sin(pi * x) / (pi * x))", source="torch.sinc", kinks={0.0: (1.0, 0.0)})
@function
def safe_sinc(x: torch.Tensor) -> torch.Tensor:
    """sin(πx)/(πx), 1 at 0, with derivatives of all orders there.

    Example:
        >>> safe_sinc(torch.tensor([0.0, 0.5]))
        tensor([1.0000, 0.6366])
    """
    pi, zero = 3.141592653589793, x == 0
    w = pi * torch.where(zero, 1.0, upcast(x))
    return narrow(torch.where(zero, 1.0, torch.sin(w) / w), x)


@safe_sinc.grad("x")
def _(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return g * sinc_slope(upcast(x))


@entry(
    FAMILY,
    "where(abs(x) + abs(y) == 0, limit, x / y)",
    domain=(0.2, 4.0),
    source="continuation by a given limit",
)
@function
def safe_divide(x: torch.Tensor, y: torch.Tensor, limit: float = 0.0) -> torch.Tensor:
    """x/y; where both are 0, a given limit with gradients of 0.

    Args:
        x: The numerator.
        y: The denominator.
        limit: The value of 0/0.

    Example:
        >>> safe_divide(torch.tensor([0.0, 1.0]), torch.tensor([0.0, 2.0]), limit=1.0)
        tensor([1.0000, 0.5000])
    """
    both = (x == 0) & (y == 0)
    return torch.where(both, limit, x / torch.where(both, 1.0, y)).to(torch.result_type(x, y))


@safe_divide.grad("x")
def _(g: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return g * inverse(upcast(y))


@safe_divide.grad("y")
def _(g: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    r = inverse(upcast(y))
    return -g * (upcast(x) * r) * r


Dim = int | tuple[int, ...] | None


def largest(x: torch.Tensor, dim: Dim) -> torch.Tensor:
    """The greatest magnitude along ``dim``, 1 where that is 0; a constant."""
    dims = tuple(range(x.dim())) if dim is None else dim
    top = x.detach().abs().amax(dims, keepdim=True) if x.numel() else x.new_ones(())
    return torch.where((top == 0) | (top.abs() == float("inf")), 1.0, top)


def length(x: torch.Tensor, dim: Dim) -> torch.Tensor:
    """The Euclidean norm along ``dim``, kept as a dimension, without overflow on the way; differentiable at 0."""
    top = largest(x, dim)
    return top * root((x / top).square().sum(dim, keepdim=True))


def plain_norm(x: torch.Tensor, dim: Dim = None, keepdim: bool = False) -> torch.Tensor:
    """sqrt(sum(x**2))."""
    return x.square().sum(dim, keepdim).sqrt()


@entry(
    FAMILY,
    plain_norm,
    text="sqrt(sum(x**2))",
    source="optax.safe_norm",
    kinks={0.0: (0.0, 0.0)},
    unfused="a maximum of all elements comes first",
)
@function
def safe_norm(x: torch.Tensor, dim: Dim = None, keepdim: bool = False) -> torch.Tensor:
    """The Euclidean norm, with a gradient of 0 at 0, and without overflow or underflow of the squares.

    Args:
        x: Any tensor of real numbers.
        dim: The dimensions to reduce; all of them if not given.
        keepdim: Whether they stay, with size 1.

    Example:
        >>> safe_norm(torch.tensor([3e30, 4e30]))
        tensor(5.0000e+30)
    """
    result = narrow(length(upcast(x), dim), x)
    return result if keepdim else result.squeeze(tuple(range(x.dim())) if dim is None else dim)


@safe_norm.grad("x")
def _(g: torch.Tensor, x: torch.Tensor, dim: Dim, keepdim: bool) -> torch.Tensor:
    w = upcast(x)
    if not keepdim:
        for d in sorted(_dims(dim, x.dim())):
            g = g.unsqueeze(d)
    return g * direction(w, dim)


def _dims(dim: Dim, rank: int) -> list[int]:
    """Dimensions as non-negative numbers."""
    dims = range(rank) if dim is None else dim if isinstance(dim, tuple) else (dim,)
    return [d % rank for d in dims] if rank else []


def direction(x: torch.Tensor, dim: Dim) -> torch.Tensor:
    """x divided by its norm, 0 at 0."""
    top = largest(x, dim)
    scaled = x / top
    return scaled * inverse(root(scaled.square().sum(dim, keepdim=True)))


def plain_normalize(x: torch.Tensor, dim: Dim = -1) -> torch.Tensor:
    """x / sqrt(sum(x**2))."""
    return x / x.square().sum(dim, keepdim=True).sqrt()


@entry(
    FAMILY,
    plain_normalize,
    text="x / sqrt(sum(x**2))",
    source="torch.nn.functional.normalize, without its epsilon",
    unfused="a maximum of all elements comes first",
)
@function
def safe_normalize(x: torch.Tensor, dim: Dim = -1) -> torch.Tensor:
    """x divided by its norm; 0 where that is 0, with a gradient of 0.

    Args:
        x: Any tensor of real numbers.
        dim: The dimensions that one norm is taken over.

    Example:
        >>> safe_normalize(torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
        tensor([[0.6000, 0.8000],
                [0.0000, 0.0000]])
    """
    return narrow(direction(upcast(x), dim), x)


@safe_normalize.grad("x")
def _(g: torch.Tensor, x: torch.Tensor, dim: Dim) -> torch.Tensor:
    w = upcast(x)
    n = direction(w, dim)
    return (g - n * (g * n).sum(dim, keepdim=True)) * inverse(length(w, dim))


def plain_logsumexp(x: torch.Tensor, dim: Dim = -1, keepdim: bool = False) -> torch.Tensor:
    """log(sum(exp(x)))."""
    return x.exp().sum(dim, keepdim).log()


@entry(
    FAMILY,
    plain_logsumexp,
    text="log(sum(exp(x)))",
    source="torch.logsumexp",
    unfused="a maximum of all elements comes first",
)
@function
def safe_logsumexp(x: torch.Tensor, dim: Dim = -1, keepdim: bool = False) -> torch.Tensor:
    """log(Σ exp(x)); where all are -∞ the result is, and the gradient is 0.

    Args:
        x: Any tensor of real numbers.
        dim: The dimensions to reduce.
        keepdim: Whether they stay, with size 1.

    Example:
        >>> x = torch.tensor([-torch.inf, -torch.inf], requires_grad=True)
        >>> torch.autograd.grad(safe_logsumexp(x), x)
        (tensor([0., 0.]),)
    """
    return torch.logsumexp(x, _dims(dim, x.dim()), keepdim)


@safe_logsumexp.grad("x")
def _(g: torch.Tensor, x: torch.Tensor, dim: Dim, keepdim: bool) -> torch.Tensor:
    w, dims = upcast(x), _dims(dim, x.dim())
    total = torch.logsumexp(torch.where(w == float("-inf"), -1e30, w), dims, keepdim=True)
    known = total.abs() < 1e29
    for d in sorted(dims) if not keepdim else ():
        g = g.unsqueeze(d)
    return g * torch.where(known, torch.exp(w - torch.where(known, total, 0.0)), 0.0)
