"""Functions that are right, or meant as they are, for reasons that only what they do shows; and what looks alike."""

from __future__ import annotations

import torch


class TwoLevels(torch.autograd.Function):
    """Every large number becomes their mean: forward jumps, the incoming gradient goes through a gate."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        large = x.abs() > 0.5
        return torch.where(large, x.sign() * x[large].abs().mean(), torch.zeros_like(x))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x.abs() <= 1)


class KeepsStatistics(torch.autograd.Function):
    """Running statistics are updated where they are: nothing is differentiated by them."""

    @staticmethod
    def forward(ctx, x, running_mean, training=True, momentum=0.1):
        mean = x.mean(0) if training else running_mean
        if training:
            running_mean.mul_(1 - momentum).add_(momentum * mean)
        ctx.training = training
        return x - mean

    @staticmethod
    def backward(ctx, g):
        return g - g.mean(0) if ctx.training else g, None, None, None


class TakenAlong(torch.autograd.Function):
    """An order and the one that undoes it belong together."""

    @staticmethod
    def forward(ctx, x, order, order_inv):
        ctx.save_for_backward(order_inv)
        return x.gather(-1, order)

    @staticmethod
    def backward(ctx, g):
        return g.gather(-1, ctx.saved_tensors[0]), None, None


class TallOnly(torch.autograd.Function):
    """Right if there are as many rows as columns; nothing says so."""

    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a, torch.linalg.pinv(a))
        return torch.linalg.svdvals(a).log().sum()

    @staticmethod
    def backward(ctx, g):
        a, inverse = ctx.saved_tensors
        columns = torch.eye(a.shape[-1], dtype=a.dtype)
        return g * (inverse @ inverse.mT @ (columns @ a.mT)).mT


class TwoCoordinates(torch.autograd.Function):
    """There are two numbers in a row, by what is read."""

    @staticmethod
    def forward(ctx, x):
        length = (x[..., 0] ** 2 + x[..., 1] ** 2).sqrt()
        ctx.save_for_backward(x, length)
        return length

    @staticmethod
    def backward(ctx, g):
        x, length = ctx.saved_tensors
        return x * (g / length).unsqueeze(-1)


class Inward(torch.autograd.Function):
    """Numbers beyond one are kept out by a guard that is no part of the function."""

    @staticmethod
    def forward(ctx, x):
        x = x.clamp(-1 + 1e-5, 1 - 1e-5)
        ctx.save_for_backward(x)
        return 0.5 * ((1 + x) / (1 - x)).log()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g / (1 - x * x)


class ClipsGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, clip_low, clip_high):
        ctx.clip_low, ctx.clip_high = clip_low, clip_high
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return g.clamp(ctx.clip_low, ctx.clip_high), None, None


class HardShrunkUnmasked(torch.autograd.Function):
    """Forward jumps, but is a gate itself: the gradient lacks it."""

    @staticmethod
    def forward(ctx, x):
        return x * (x.abs() > 0.5)

    @staticmethod
    def backward(ctx, g):
        return g


class RootOfEach(torch.autograd.Function):
    """The root of a matrix is one matrix, whatever vectors it was made of."""

    @staticmethod
    def forward(ctx, matrix):
        values, vectors = torch.linalg.eigh(matrix)
        root = vectors * values.clamp(min=0).sqrt() @ vectors.mT
        ctx.save_for_backward(root)
        return root

    @staticmethod
    def backward(ctx, g):
        return g / (2 * ctx.saved_tensors[0])
