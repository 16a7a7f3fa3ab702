"""What real code means is no fault: conventions, deliberate gradients, domains; the same mistakes unmeant are."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist

import pullback as pb
from pullback.check.inferred import names


class DefaultsNotPassed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, alpha, delta=0):
        ctx.save_for_backward(x >= alpha)
        return x.clamp(max=alpha.item()) + delta

    @staticmethod
    def backward(ctx, g):
        (above,) = ctx.saved_tensors
        return g * ~above, (g * above).sum()


class FlagReadInBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, doubled):
        ctx.doubled = doubled
        return 2 * x if doubled is True else x.clone()

    @staticmethod
    def backward(ctx, g):
        return 2 * g if ctx.doubled else g, None


class Iterated(torch.autograd.Function):
    """The square root, by Newton's method; its derivative is that of the limit."""

    @staticmethod
    def forward(ctx, x, num_iters=3):
        root = torch.ones_like(x)
        for _ in range(num_iters):
            root = (root + (1 + x * x) / root) / 2
        ctx.save_for_backward(x, root)
        return root

    @staticmethod
    def backward(ctx, g):
        x, root = ctx.saved_tensors
        return g * x / root, None


class Collective(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = x.clone()
        dist.all_reduce(out)
        return out

    @staticmethod
    def backward(ctx, g):
        return g


class ByEstimator(torch.autograd.Function):
    """An STE for both factors."""

    @staticmethod
    def forward(ctx, weight, scores):
        return weight * scores

    @staticmethod
    def backward(ctx, g):
        return g, g


class HandedOn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, low, span):
        zero = torch.round(-low * 3 / span)
        return -zero * span / 3, span * 1.5

    @staticmethod
    def backward(ctx, g_low, g_span):
        return g_low, g_span


class Leaking(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(0, 1)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        grad = g.clone()
        grad[x < 0] = 1e-2
        grad[x > 1] = -1e-2
        return grad


class MadeInside(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * torch.ones_like(x, requires_grad=True)

    @staticmethod
    def backward(ctx, g):
        return g


class Twisted(torch.autograd.Function):
    """Its gradient lies in the tangent space."""

    @staticmethod
    def forward(ctx, x):
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        return g.roll(1, -1)


class FixedPoint(torch.autograd.Function):
    """Converges if the matrix is small."""

    @staticmethod
    def forward(ctx, x, matrix):
        z = torch.zeros_like(x)
        for _ in range(80):
            z = torch.tanh(z @ matrix.t() + x)
        ctx.save_for_backward(matrix, z)
        return z

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        matrix, z = ctx.saved_tensors
        u, slope = g, 1 - z * z
        for _ in range(80):
            u = g + (u * slope) @ matrix
        return u * slope, (u * slope).mT @ z


MEANT = [DefaultsNotPassed, FlagReadInBackward, Iterated, Collective, ByEstimator, HandedOn, Leaking, MadeInside,
         Twisted, FixedPoint]  # fmt: skip


@pytest.mark.parametrize("cls", MEANT, ids=lambda cls: cls.__name__)
def test_nothing_that_is_meant_is_an_error(cls: type[torch.autograd.Function]) -> None:
    (target,) = pb.check(cls).targets
    assert target.status == "ok", str(target.findings) + str(target.unchecked)


def test_no_process_group_is_left_behind() -> None:
    report = pb.check(Collective)
    assert not dist.is_initialized()
    assert any("process group of one" in note for note in report.targets[0].notes)
    assert "needless-function" not in report.names()


class TruthOfATensor(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, g):
        return g * 2 if g > 0 else g


class TooFew(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        return x * scale

    @staticmethod
    def backward(ctx, g):
        return g


class Captures(torch.autograd.Function):
    weight = torch.ones(4, requires_grad=True)

    @staticmethod
    def forward(ctx, x):
        return x * Captures.weight

    @staticmethod
    def backward(ctx, g):
        return g * Captures.weight


class Standardised(torch.autograd.Function):
    """Flat where a row has two numbers."""

    @staticmethod
    def forward(ctx, x):
        spread = x.std(-1, keepdim=True)
        ctx.save_for_backward(spread)
        return (x - x.mean(-1, keepdim=True)) / spread

    @staticmethod
    def backward(ctx, g):
        (spread,) = ctx.saved_tensors
        return (g - g.mean(-1, keepdim=True)) / spread


@pytest.mark.parametrize(
    ("cls", "fault"),
    [
        (Standardised, "statistic-treated-constant"),
        (TruthOfATensor, "backward-raises"),
        (TooFew, "wrong-grad-count"),
        (Captures, "closure-captured-param"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_what_looks_alike_and_is_not_meant_is_found(cls: type[torch.autograd.Function], fault: str) -> None:
    assert fault in [f.name for f in pb.check(cls).findings if f.severity != "note"]


@pytest.mark.parametrize(
    ("function", "power"), [(names.distance, 1), (names.squared_distance, 2)], ids=["distance", "squared"]
)
def test_distances_are_those_of_rows(function, power: int) -> None:
    a, b = torch.randn(2, 3, 4, dtype=torch.float64), torch.randn(2, 5, 4, dtype=torch.float64)
    torch.testing.assert_close(function(a, b), torch.cdist(a, b) ** power)
