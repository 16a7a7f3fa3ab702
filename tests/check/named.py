"""Faulty Functions of which one name alone is true; they are entered into the table of ``faulty.py``."""

from __future__ import annotations

import torch
from torch.autograd import Function

from faulty import wrong  # isort: skip


@wrong("duplicate-index-overwrite", shapes=[(3, 5)], extra=(torch.tensor([4, 0, 0, 2]),))
class ColumnsAddedOnce(Function):
    @staticmethod
    def forward(ctx, x, index):
        ctx.save_for_backward(index)
        ctx.count = x.shape[1]
        return x.index_select(1, index)

    @staticmethod
    def backward(ctx, g):
        (index,) = ctx.saved_tensors
        grad = g.new_zeros(g.shape[0], ctx.count)
        grad[:, index] += g
        return grad, None


class MeansOfWindows(Function):
    """A loop over windows that writes where it should add: it walks along, and converges to nothing."""

    @staticmethod
    def forward(ctx, x, kernel_size, stride):
        ctx.save_for_backward(x)
        ctx.kernel, ctx.stride = kernel_size, stride
        count = (x.shape[-1] - kernel_size) // stride + 1
        return torch.stack([x[..., i * stride : i * stride + kernel_size].mean(-1) for i in range(count)], -1)

    @staticmethod
    def backward(ctx, g):
        grad = torch.zeros_like(ctx.saved_tensors[0])
        for i in range(g.shape[-1]):
            grad[..., i * ctx.stride : i * ctx.stride + ctx.kernel] = g[..., i : i + 1] / ctx.kernel
        return grad, None, None


class GatesOfACell(Function):
    """The gates are cut from one tensor, four times as wide as the cell."""

    @staticmethod
    def forward(ctx, gates, cell):
        i, f, o, u = gates.chunk(4, 1)
        i, f, o, u = i.sigmoid(), f.sigmoid(), o.sigmoid(), u.tanh()
        ctx.save_for_backward(i, f, o, u, cell)
        return o * (f * cell + i * u).tanh()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        i, f, o, u, cell = ctx.saved_tensors
        inner = (f * cell + i * u).tanh()
        g_cell, g_o = g * o * (1 - inner**2), g * inner * o * (1 - o)
        g_i, g_f, g_u = g_cell * u * i * (1 - i), g_cell * cell * f * (1 - f), g_cell * i * (1 - u)
        return torch.cat([g_i, g_f, g_o, g_u], 1), g_cell * f


class QuadraticForm(Function):
    """Right for what the matrix is called."""

    @staticmethod
    def forward(ctx, x, precision):
        half = x @ precision
        ctx.save_for_backward(x, half)
        return (half * x).sum(-1)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        x, half = ctx.saved_tensors
        return 2 * g.unsqueeze(-1) * half, torch.einsum("n,ni,nj->ij", g, x, x)


class PowerOfSpectrum(Function):
    """Right for real signals."""

    @staticmethod
    def forward(ctx, x):
        spectrum = torch.fft.fft(x)
        ctx.save_for_backward(spectrum)
        return spectrum.real**2 + spectrum.imag**2

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        (spectrum,) = ctx.saved_tensors
        return 2 * spectrum.shape[-1] * torch.fft.ifft(g * spectrum).real


class AlongEdges(Function):
    """A sparse product whose gradient goes along the edges, not against them: the same row and column hide it."""

    @staticmethod
    def forward(ctx, row, col, weight, dense):
        ctx.save_for_backward(row, col, weight, dense)
        return torch.zeros_like(dense).index_add(0, row, weight.unsqueeze(1) * dense[col])

    @staticmethod
    def backward(ctx, grad_output):
        row, col, weight, dense = ctx.saved_tensors
        grad = torch.zeros_like(dense).index_add(0, row, weight.unsqueeze(1) * grad_output[col])
        return None, None, (grad_output[row] * dense[col]).sum(1), grad


@wrong("duplicate-index-overwrite", shapes=[(9,), (4,)])
class TableInterpolated(Function):
    """Two writes to the same entries, each of which reads, adds and writes."""

    @staticmethod
    def forward(ctx, x, table):
        place = torch.sigmoid(x) * (len(table) - 1)
        low = place.detach().floor().long()
        ctx.save_for_backward(low, place - low)
        ctx.count = len(table)
        return table[low] * (1 - place + low) + table[low + 1] * (place - low)

    @staticmethod
    def backward(ctx, g):
        low, part = ctx.saved_tensors
        grad = g.new_zeros(ctx.count)
        grad[low] += g * (1 - part)
        grad[low + 1] += g * part
        return None, grad


@wrong("wrong-derivative", shapes=[(2, 3, 4)])
class CovarianceHalf(Function):
    """It is right for incoming gradients that are symmetric, not only for those that are one number."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x @ x.mT

    @staticmethod
    def backward(ctx, g):
        return 2 * g @ ctx.saved_tensors[0]


@wrong("duplicate-index-overwrite", shapes=[(2, 12)], extra=(4, 2))
class OverlappingMaximum(Function):
    """The index is found in forward, where one element may be the largest of two windows."""

    @staticmethod
    def forward(ctx, x, kernel, stride):
        value, place = x.unfold(-1, kernel, stride).max(-1)
        ctx.save_for_backward(place + stride * torch.arange(value.shape[-1], device=x.device))
        ctx.length = x.shape[-1]
        return value

    @staticmethod
    def backward(ctx, g):
        (place,) = ctx.saved_tensors
        return g.new_zeros(*g.shape[:-1], ctx.length).scatter(-1, place, g), None, None


@wrong("mask-not-applied", shapes=[(5, 4)], extra=(torch.tensor([1, -100, 3, 0, -100]),))
class PaddedRows(Function):
    """Rows are written at distinct places: nothing is overwritten."""

    @staticmethod
    def forward(ctx, logits, labels):
        keep = labels != -100
        safe = labels.clamp_min(0)
        log_p = torch.log_softmax(logits, -1)
        ctx.save_for_backward(log_p, safe, keep.sum())
        return -(log_p.gather(1, safe[:, None])[:, 0] * keep).sum() / keep.sum()

    @staticmethod
    def backward(ctx, g):
        log_p, safe, count = ctx.saved_tensors
        grad = log_p.exp()
        grad[torch.arange(len(safe), device=grad.device), safe] -= 1
        return g * grad / count, None


@wrong("wrong-derivative", shapes=[(3, 4)], extra=(torch.tensor(0.7, dtype=torch.float64),))
class TurnedTwice(Function):
    @staticmethod
    def forward(ctx, x, angle):
        ctx.save_for_backward(angle)
        a, b = x.chunk(2, -1)
        return torch.cat((a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()), -1)

    @staticmethod
    def backward(ctx, g):
        (angle,) = ctx.saved_tensors
        a, b = g.chunk(2, -1)
        return torch.cat((a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()), -1), None


@wrong("reduction-mismatch", shapes=[(6, 3)], extra=(torch.tensor([[0, 1, 5], [2, 2, 3]]),))
class BagOfRows(Function):
    @staticmethod
    def forward(ctx, table, bags):
        ctx.save_for_backward(bags)
        ctx.size = table.shape
        return table[bags].mean(1)

    @staticmethod
    def backward(ctx, g):
        (bags,) = ctx.saved_tensors
        rows = g.unsqueeze(1).expand(-1, bags.shape[1], -1)
        return g.new_zeros(ctx.size).index_add(0, bags.flatten(), rows.flatten(0, 1)), None


@wrong("wrong-derivative", shapes=[(2, 6)])
class SortedGathered(Function):
    @staticmethod
    def forward(ctx, x):
        y, order = x.sort(-1)
        ctx.save_for_backward(order)
        return y

    @staticmethod
    def backward(ctx, g):
        (order,) = ctx.saved_tensors
        return g.gather(-1, order)


@wrong("nan-at-kink", shapes=[(4, 3)])
class UnitGuardedInForward(Function):
    """Forward is guarded at the origin, backward is not."""

    @staticmethod
    def forward(ctx, v):
        ctx.save_for_backward(v)
        return v / v.norm(dim=-1, keepdim=True).clamp_min(1e-12)

    @staticmethod
    def backward(ctx, g):
        (v,) = ctx.saved_tensors
        n = v.norm(dim=-1, keepdim=True)
        u = v / n
        return (g - u * (u * g).sum(-1, keepdim=True)) / n


@wrong("both-vmap-rules", shapes=[(3, 4)])
class TwoRules(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g

    @staticmethod
    def vmap(info, in_dims, x):
        return TwoRules.apply(x), in_dims[0]


@wrong("nan-at-kink", shapes=[(4, 3), (5, 3)])
class PairsApart(Function):
    """One row of each is equal."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return (x[:, None] - y[None]).norm(dim=-1)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        apart = x[:, None] - y[None]
        unit = (g / apart.norm(dim=-1))[..., None] * apart
        return unit.sum(1), -unit.sum(0)


@wrong("uninitialised-grad", shapes=[(6, 3), (3,)])
class SeenAlong(Function):
    """Of a single number either all is seen or nothing: it takes rows."""

    @staticmethod
    def forward(ctx, points, along):
        depth = points @ along
        seen = depth > 0
        ctx.save_for_backward(points, along, seen)
        return depth[seen].sum()

    @staticmethod
    def backward(ctx, g):
        points, along, seen = ctx.saved_tensors
        grad = points.new_empty(points.shape)
        grad[seen] = g * along
        return grad, g * points[seen].sum(0)


@wrong("global-state", shapes=[(5,)])
class CountsDown(Function):
    """No random number is drawn: what differs from call to call is a counter."""

    calls = 0

    @staticmethod
    def forward(ctx, x):
        CountsDown.calls += 1
        return x * (1 + 1 / CountsDown.calls)

    @staticmethod
    def backward(ctx, g):
        return g * (1 + 1 / CountsDown.calls)


@wrong("wrong-derivative", shapes=[(4, 6)], extra=(1,))
class RolledOn(Function):
    @staticmethod
    def forward(ctx, x, shift):
        ctx.shift = shift
        return torch.roll(x, shift, -1)

    @staticmethod
    def backward(ctx, g):
        return torch.roll(g, ctx.shift, -1), None


@wrong("wrong-derivative", shapes=[(6, 2)], extra=(torch.tensor([0, 0, 1, 2, 2, 2]), 3))
class MeanOfSegments(Function):
    """Forward of the gradient gives the incoming one back, but a map onto fewer numbers has no inverse."""

    @staticmethod
    def forward(ctx, x, segment, count):
        size = torch.bincount(segment, minlength=count).to(x.dtype)
        ctx.save_for_backward(segment)
        return x.new_zeros(count, x.shape[1]).index_add(0, segment, x) / size[:, None]

    @staticmethod
    def backward(ctx, g):
        (segment,) = ctx.saved_tensors
        return g[segment], None, None
