"""The same small functions written in every way that PyTorch offers, for the benchmarks of one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

import pullback as pb

# ---- one argument: x * sigmoid(x), keeping x


def plain(x):
    return x * torch.sigmoid(x)


def _slope(g, x):
    s = torch.sigmoid(x)
    return g * (s + x * s * (1 - s))


class ByHand(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return plain(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return _slope(g, x)


class BySetup(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return plain(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return _slope(g, x)


@torch.library.custom_op("pullback_bench::swish", mutates_args=())
def by_custom_op(x: torch.Tensor) -> torch.Tensor:
    return plain(x)


by_custom_op.register_autograd(
    lambda ctx, g: _slope(g, ctx.saved_tensors[0]),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
)


@pb.function
def one_rule(x):
    return x * torch.sigmoid(x)


one_rule.grad("x")(lambda g, x: _slope(g, x))


# ---- three arguments: a learned clamp


def clamp(x, low, high):
    return torch.minimum(torch.maximum(x, low), high)


class ClampByHand(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x, low, high)
        return clamp(x, low, high)

    @staticmethod
    def backward(ctx, g):
        x, low, high = ctx.saved_tensors
        need_x, need_low, need_high = ctx.needs_input_grad
        gx = g * ((x > low) & (x < high)) if need_x else None
        glow = (g * (x < low)).sum_to_size(low.shape) if need_low else None
        ghigh = (g * (x > high)).sum_to_size(high.shape) if need_high else None
        return gx, glow, ghigh


@pb.function
def three_rules(x, low, high):
    return torch.minimum(torch.maximum(x, low), high)


three_rules.grad("x")(lambda g, x, low, high: g * ((x > low) & (x < high)))
three_rules.grad("low")(lambda g, x, low: g * (x < low))
three_rules.grad("high")(lambda g, x, high: g * (x > high))


# ---- two outputs


class TwoByHand(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        sin, cos = torch.sin(x), torch.cos(x)
        ctx.save_for_backward(sin, cos)
        return sin, cos

    @staticmethod
    def backward(ctx, gs, gc):
        sin, cos = ctx.saved_tensors
        return gs * cos - gc * sin


@pb.function
def two_outputs(x):
    return torch.sin(x), torch.cos(x)


two_outputs.grad("x")(lambda g, out: g[0] * out[1] - g[1] * out[0])


# ---- something kept


class MaskByHand(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        mask = x > 0
        ctx.save_for_backward(mask)
        return x * mask

    @staticmethod
    def backward(ctx, g):
        (mask,) = ctx.saved_tensors
        return g * mask


@pb.function
def kept_mask(x):
    mask = x > 0
    return pb.keep(x * mask, mask=mask)


kept_mask.grad("x")(lambda g, mask: g * mask)


class FloatByHand(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        s = torch.sigmoid(x)
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx, g):
        x, s = ctx.saved_tensors
        return g * (s + x * s * (1 - s))


@pb.function
def kept_float(x):
    s = torch.sigmoid(x)
    return pb.keep(x * s, s=s)


kept_float.grad("x")(lambda g, x, s: g * (s + x * s * (1 - s)))


# ---- ways to call


def tensor(*shape: int, grad: bool = True) -> torch.Tensor:
    """A new leaf."""
    return torch.linspace(-2, 2, 16).reshape(shape).clone().requires_grad_(grad) if shape else torch.tensor(0.5)


def training(fn: Callable[..., Any], *tensors: torch.Tensor) -> Callable[[], Any]:
    """Forward and backward of ``fn``."""
    g = torch.ones(16)
    wanted = [t for t in tensors if t.requires_grad]

    def run() -> Any:
        out = fn(*tensors)
        outs = out if isinstance(out, tuple) else (out,)
        return torch.autograd.grad(outs, wanted, [g] * len(outs))

    return run


def forward(fn: Callable[..., Any], *tensors: torch.Tensor) -> Callable[[], Any]:
    """The call alone."""
    return lambda: fn(*tensors)


def func_grad(fn: Callable[..., Any], *tensors: torch.Tensor) -> Callable[[], Any]:
    """torch.func.grad of the sum."""
    gradient = torch.func.grad(lambda *ts: fn(*ts).sum())
    return lambda: gradient(*tensors)
