"""Mutants about numbers and derivatives of derivatives; ``mutants.py`` enters them into its table."""

from __future__ import annotations

import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class Halves(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        e = torch.exp(-x)
        return grad_output * e / (1 + e) ** 2


class FromOutput(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.expm1(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (1 + y)


class StoredSlope(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(torch.cos(x))
        return torch.sin(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0]


class DifferentiatesInside(Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        x, w = (t.detach().requires_grad_() for t in ctx.saved_tensors)
        with torch.enable_grad():
            product = x * w
        product.backward(grad_output)
        return tuple(t.grad if asked else None for t, asked in zip((x, w), ctx.needs_input_grad, strict=True))


class OverflowsForward(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.log(1 + torch.exp(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(x)


class DividesByModulus(Function):
    @staticmethod
    def forward(ctx, z):
        ctx.save_for_backward(z)
        return z.abs()

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (z,) = ctx.saved_tensors
        return grad_output * z / z.abs()


class DividesByLargest(Function):
    """Contrast, as of a colour: at black forward is guarded, and jumps; it refuses what is negative."""

    @staticmethod
    def forward(ctx, x):
        if bool((x < 0).any()):
            raise ValueError("colours are not negative")
        ctx.save_for_backward(x)
        high, low = x.amax(-1), x.amin(-1)
        return torch.where(high > 0, (high - low) / high.clamp_min(1e-30), 0.0)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        (high, top), (low, bottom) = x.max(-1, keepdim=True), x.min(-1, keepdim=True)
        g = grad_output.unsqueeze(-1)
        return torch.zeros_like(x).scatter_add(-1, top, g * low / high**2).scatter_add(-1, bottom, -g / high)


class VarianceOfSquares(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x * x).mean(-1) - x.mean(-1) ** 2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * grad_output.unsqueeze(-1) * (x - x.mean(-1, keepdim=True)) / x.shape[-1]


class SpikesAlone(Function):
    """A surrogate gradient for the spike, and none for the potential."""

    @staticmethod
    def forward(ctx, v):
        ctx.save_for_backward(v)
        return (v > 0.1).to(v), 0.9 * v

    @staticmethod
    def backward(ctx, grad_spike, grad_v):
        (v,) = ctx.saved_tensors
        return grad_spike / (1 + v * v)


class KeepsHalf(Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x.half(), w)
        return x * w

    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        return grad_output * w, grad_output * x.to(w)


class SavesTooMuch(Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w, x * w)
        return x * w

    @staticmethod
    def backward(ctx, grad_output):
        x, w, out = ctx.saved_tensors
        return grad_output * w, grad_output.reshape(out.shape) * x


class FetchesToCpu(Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx, grad_output):
        (x, w), g = ctx.saved_tensors, grad_output.cpu()
        return g * w, g * x


class BothAtTies(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return torch.maximum(a, b)

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        return (
            grad_output * (a >= b) if ctx.needs_input_grad[0] else None,
            grad_output * (b >= a) if ctx.needs_input_grad[1] else None,
        )


class AllLargest(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.amax(-1, keepdim=True)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return grad_output * (x == y)
