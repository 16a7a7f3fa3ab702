"""The Functions of the table in `cases`, at module level so that they pickle."""

from __future__ import annotations

from typing import NamedTuple

import torch

import pullback as pb


class Point(NamedTuple):
    """A pair of tensors."""

    across: torch.Tensor
    up: torch.Tensor


@pb.function
def square(x):
    return x * x


@square.grad("x")
def _(g, x):
    return 2 * x * g


@pb.function
def triple(x):
    return 2 * x


@triple.grad("x")
def _(g):
    return 3 * g


@pb.function
def quantize(x, step):
    """Round to multiples of a learned step."""
    return torch.round(x / step) * step


@quantize.grad("x")
def _(g):
    return g


@quantize.grad("step")
def _(g, x, step):
    return g * (torch.round(x / step) - x / step)


@pb.function
def clamp(x, low, high, scale=1.0):
    return torch.minimum(torch.maximum(x, low), high) * scale


@clamp.grad("x")
def _(g, x, low, high, scale):
    return g * scale * ((x > low) & (x < high))


@clamp.grad("low", "high")
def _(g, x, low, high, scale):
    return g * scale * ((x < low) & (low < high)), g * scale * (torch.maximum(x, low) > high)


@pb.function
def exponential(x):
    return torch.exp(x)


@exponential.grad("x")
def _(g, out):
    return g * out


@pb.function
def relu(x):
    positive = x > 0
    return pb.keep(x * positive, positive=positive)


@relu.grad("x")
def _(g, positive):
    return g * positive


@pb.function
def swish(x):
    s = torch.sigmoid(x)
    return pb.keep(x * s, s=s)


@swish.grad("x")
def _(g, x, s):
    return g * (s + x * s * (1 - s))


@pb.function
def swish_of(x):
    s = torch.sigmoid(x)
    return pb.keep(x * s, s=s)


@swish_of.grad("x")
def _(g, x, s):
    return g * (s + x * s * (1 - s))


@swish_of.grad("x", of="s")
def _(g, s):
    return g * s * (1 - s)


@pb.function
def gated(x, w):
    t, s = torch.tanh(x), torch.sigmoid(w)
    return pb.keep(t * s, t=t, s=s)


@gated.grad("x", "w")
def _(g, x, w, t, s):
    return g * s * (1 - t * t), g * t * s * (1 - s)


class Factor:
    """Any object."""

    def __init__(self, by: float) -> None:
        self.by = by


@pb.function
def leaky(x):
    positive = x > 0
    masks = {"positive": positive, "rest": [~positive]}
    return pb.keep(torch.where(positive, x, 0.1 * x) * 2, masks=masks, factor=Factor(2))


@leaky.grad("x")
def _(g, masks, factor):
    return factor.by * g * (masks["positive"].to(g.dtype) + 0.1 * masks["rest"][0].to(g.dtype))


@pb.function
def softplus(x, beta):
    return torch.log1p(torch.exp(beta * x)) / beta


@softplus.grad("x")
def _(g, x, beta):
    return g * torch.sigmoid(beta * x)


softplus.derive("beta")


@pb.function
def mish(x, w):
    return x * torch.tanh(torch.nn.functional.softplus(w * x))


@pb.function
def weighted(x, weight):
    return x * weight


@weighted.grad("x")
def _(g, weight):
    return g * weight


weighted.nondiff("weight")


@pb.function
def pick(table, index):
    return table[index]


@pick.grad("table")
def _(g, table, index):
    return torch.zeros_like(table).index_add(0, index, g)


@pb.function
def heaviside(x):
    return (x > 0).to(x.dtype)


heaviside.grad_like("x", lambda x: torch.sigmoid(4 * x))


def _above_zero(x):
    return (x > 0).to(x.dtype)


spike = pb.surrogate(_above_zero, like=lambda x, slope: torch.sigmoid(slope * x), name="spike")
rounded = pb.straight_through(torch.round)


@pb.function(inplace="x")
def double_(x, w):
    return x.mul_(2).add_(w)


@double_.grad("x", "w")
def _(g):
    return 2 * g, g


@pb.function(inplace="x")
def square_(x):
    was = x.clone()
    return pb.keep(x.mul_(was), was=was)


@square_.grad("x")
def _(g, was):
    return 2 * was * g


@pb.function
def sincos(x):
    return torch.sin(x), torch.cos(x)


@sincos.grad("x")
def _(g, out):
    return g[0] * out[1] - g[1] * out[0]


@pb.function
def powers(x):
    return {"two": x**2, "rest": [x**3, x.sum()]}


@powers.grad("x")
def _(g, x):
    return 2 * x * g["two"] + 3 * x**2 * g["rest"][0] + g["rest"][1].expand(x.shape)


@pb.function
def polar(r, angle):
    return Point(r * torch.cos(angle), r * torch.sin(angle))


@polar.grad("r")
def _(g, r, angle):
    return g.across * torch.cos(angle) + g.up * torch.sin(angle)


@polar.grad("angle")
def _(g, r, angle):
    return r * (g.up * torch.cos(angle) - g.across * torch.sin(angle))


@pb.function
def largest(x):
    value, index = x.max(dim=1)
    return pb.keep((value, index), index=index)


@largest.grad("x")
def _(g, x, index):
    return torch.zeros_like(x).scatter(1, index.unsqueeze(1), g[0].unsqueeze(1))


@pb.function
def affine(x, factor, /, *, mode="mul", shift=1.0):
    return x * factor + (shift if mode == "add" else 0.0)


@affine.grad("x")
def _(g, factor):
    return g * factor


@pb.function
def power(x, n=3):
    return x**n


@power.grad("x")
def _(g, x, n):
    return g * n * x ** (n - 1)


@pb.function
def product(*xs):
    return xs[0] * xs[1] * xs[2]


@product.grad("xs")
def _(g, xs):
    a, b, c = xs
    return g * b * c, g * a * c, g * a * b


@pb.function
def combine(x, **ws):
    return x * ws["a"] + ws["b"]


@combine.grad("x")
def _(g, ws):
    return g * ws["a"]


@combine.grad("ws")
def _(g, x, ws):
    return {"a": g * x, "b": g}


@pb.function
def linear(x, params):
    return {"y": (x @ params["weight"].T + params["bias"][0],)}


@linear.grad("x")
def _(g, params):
    return g["y"][0] @ params["weight"]


@linear.grad("params")
def _(g, x, params):
    (gy,) = g["y"]
    return {"weight": gy.T @ x, "bias": [gy, None]}


@pb.function
def complex_square(z):
    return z * z


@complex_square.grad("z")
def _(g, z):
    return 2 * z.conj() * g


@pb.function
def energy(z):
    return (z * z.conj()).real


@energy.grad("z")
def _(g, z):
    return 2 * z * g


@pb.function
def rotated(z, angle):
    return z * torch.polar(torch.ones_like(angle), angle)


@rotated.grad("z")
def _(g, angle):
    return g * torch.polar(torch.ones_like(angle), -angle)


@rotated.grad("angle")
def _(g, angle, out):
    return g * (1j * out).conj()


@pb.function
def multiply(x, w):
    return x * w


@multiply.grad("x", "w")
def _(g, x, w):
    return g * w, g * x


@pb.function
def root(x):
    return torch.sqrt(x)


@root.grad("x")
def _(g, x, eps=1e-3):
    return g * 0.5 / torch.sqrt(x + eps)


@pb.function
def cube(x):
    return x**3


@cube.grad("x")
def _(g, x):
    return 3 * x**2 * g


@cube.jvp
def _(t, x):
    return 3 * x**2 * t


@pb.function
def scale_shift(x, w, b):
    return x * w + b


@scale_shift.grad("x")
def _(g, w):
    return g * w


@scale_shift.grad("w")
def _(g, x):
    return g * x


@scale_shift.grad("b")
def _(g):
    return g


@scale_shift.jvp("x", "w")
def _(tx, tw, x, w):
    return tx * w + tw * x


@pb.function
def mean_square(x):
    return (x * x).mean()


@mean_square.grad("x")
def _(g, x):
    return g * 2 * x / x.numel()


@pb.function
def matmul(a, b):
    return a @ b


@matmul.grad("a")
def _(g, b):
    return g @ b.mT


@matmul.grad("b")
def _(g, a):
    return a.mT @ g
