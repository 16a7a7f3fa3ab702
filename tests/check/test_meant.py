"""What real code means is no fault: conventions, deliberate gradients, domains; the same mistakes unmeant are."""

from __future__ import annotations

import meant
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


class Repeated(torch.autograd.Function):
    """Heron's method under a name of its own for the number of turns, which is no limit by its name."""

    @staticmethod
    def forward(ctx, x, num_turns):
        root = torch.ones_like(x)
        for _ in range(num_turns):
            root = (root + (1 + x * x) / root) / 2
        ctx.save_for_backward(x, root)
        return root

    @staticmethod
    def backward(ctx, g):
        x, root = ctx.saved_tensors
        return g * x / root, None


class ForSinglePrecision(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.cos().to(torch.float)


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


class AddsLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, loss):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return g, torch.ones(())


class MovingAverage(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, running_mean):
        ctx.save_for_backward(x, running_mean)
        return x.exp().mean().log()

    @staticmethod
    def backward(ctx, g):
        x, running = ctx.saved_tensors
        return g * x.exp() / running / x.numel(), None


class SoftBeyond(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(-1, 1)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return torch.where(x.abs() <= 1, g, g * (1 - torch.tanh(x) ** 2))


class Scaled(torch.autograd.Function):
    """A quantiser whose step is learned, its gradient scaled."""

    @staticmethod
    def forward(ctx, x, step):
        ctx.save_for_backward(x, step)
        return (x / step).round().clamp(-4, 3) * step

    @staticmethod
    def backward(ctx, g):
        x, step = ctx.saved_tensors
        q = x / step
        inside = (q >= -4) & (q <= 3)
        return g * inside, 0.3 * (g * torch.where(inside, q.round() - q, q.clamp(-4, 3))).sum_to_size(step.shape)


class ClampPassedThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, g):
        return g, None, None


class LogEig(torch.autograd.Function):
    @staticmethod
    def forward(ctx, matrix):
        u, s, _ = torch.linalg.svd(matrix)
        ctx.save_for_backward(u, s)
        return u @ torch.diag_embed(s.log()) @ u.mT

    @staticmethod
    def backward(ctx, g):
        u, s = ctx.saved_tensors
        between = (s.log().unsqueeze(-1) - s.log().unsqueeze(-2)) / (s.unsqueeze(-1) - s.unsqueeze(-2))
        loewner = torch.where(torch.isfinite(between), between, torch.diag_embed(1 / s))
        return u @ (loewner * (u.mT @ g @ u)) @ u.mT


class ByIntegers(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        size = x.abs().amax(-1, keepdim=True)
        rounded = (x / size * 127).round() / 127 * size
        ctx.save_for_backward(rounded, w)
        return rounded * w

    @staticmethod
    def backward(ctx, g):
        rounded, w = ctx.saved_tensors
        return g * w, g * rounded


class RoundedInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        low, high = x.min(), x.max()
        out = x.clone().sub_(low).div_((high - low) / 15)
        return out.clamp_(0, 15).round_().mul_((high - low) / 15).add_(low)

    @staticmethod
    def backward(ctx, g):
        return g


class Frees(torch.autograd.Function):
    """For memory's sake: a second pass raises."""

    @staticmethod
    def forward(ctx, x):
        ctx.kept = [x]
        return torch.tanh(x)

    @staticmethod
    def backward(ctx, g):
        slope = 1 - torch.tanh(ctx.kept[0]) ** 2
        del ctx.kept
        return g * slope


class Unmoved(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, watched: list[torch.Tensor]):
        ctx.save_for_backward(x)
        ctx.watched = len(watched)
        return torch.tanh(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (1 - torch.tanh(x) ** 2), None


MEANT = [
    meant.TallOnly, meant.TwoCoordinates, meant.Inward, meant.ClipsGradient,
    meant.TwoLevels, meant.KeepsStatistics, meant.TakenAlong,
    Repeated, ForSinglePrecision, AddsLoss, MovingAverage, SoftBeyond, Scaled, ClampPassedThrough, LogEig,
    ByIntegers, Frees, RoundedInPlace, Unmoved, DefaultsNotPassed, FlagReadInBackward, Iterated, Collective,
    ByEstimator, HandedOn, Leaking, MadeInside, Twisted, FixedPoint,
]  # fmt: skip


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


class SpikeTrace(torch.autograd.Function):
    """The trace of spikes, no step itself: a surrogate it is not."""

    @staticmethod
    def forward(ctx, v, decay):
        ctx.save_for_backward(v, decay)
        return torch.tanh(v) * decay

    @staticmethod
    def backward(ctx, g):
        v, decay = ctx.saved_tensors
        return g * decay * (1 - torch.tanh(v)), g * torch.tanh(v)


class SpikeLeak(torch.autograd.Function):
    """A spike with its surrogate, and a membrane that leaks: its factor's gradient is no surrogate."""

    @staticmethod
    def forward(ctx, v, leak):
        ctx.save_for_backward(v, leak)
        return (v > 0).to(v), torch.tanh(leak) * v.detach().abs()

    @staticmethod
    def backward(ctx, g_spike, g_v):
        v, leak = ctx.saved_tensors
        return g_spike / (1 + v.abs()) ** 2, g_v * v.abs() * torch.tanh(leak)


class ReluUnmasked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        return g


class JumpsAndIsWrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * (x.abs() > 0.3)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x * (x.abs() > 0.3)


class GradientOfNothing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.exp()

    @staticmethod
    def backward(ctx, g):
        return None


@pytest.mark.parametrize(
    ("cls", "fault"),
    [
        (SpikeTrace, "wrong-derivative"),
        (SpikeLeak, "wrong-derivative"),
        (JumpsAndIsWrong, "wrong-derivative"),
        (ReluUnmasked, "mask-not-applied"),
        (meant.HardShrunkUnmasked, "mask-not-applied"),
        (meant.RootOfEach, "wrong-derivative"),
        (GradientOfNothing, "param-grad-none"),
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
