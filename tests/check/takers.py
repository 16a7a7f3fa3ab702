"""Functions that take what real ones take: nothing but their source tells a search for arguments what that is."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F  # as everybody writes it
from torch.autograd import Function


class Options(NamedTuple):
    scale: float
    bits: int


@dataclass
class Settings:
    gain: float
    clip: bool = True


class Kind(enum.Enum):
    SOFT = 1
    HARD = 2


class Taker(Function):
    """Doubles whatever ``take`` makes of the arguments, with the gradient of that."""

    @staticmethod
    def backward(ctx, grad_output):
        with torch.enable_grad():
            inputs = [t.detach().requires_grad_() for t in ctx.saved_tensors]
            out = ctx.again(*inputs)
        grads = torch.autograd.grad(out, inputs, grad_output)
        return (*grads, *[None] * ctx.rest)


def keep(ctx, tensors, again, rest=0):
    ctx.save_for_backward(*tensors)
    ctx.again, ctx.rest = again, rest
    return again(*tensors)


class Convolution(Taker):
    @staticmethod
    def forward(ctx, image, weight, stride, padding):
        return keep(ctx, (image, weight), lambda a, b: F.conv2d(a, b, None, stride, padding), 2)


class Images(Taker):
    @staticmethod
    def forward(ctx, x, gain):
        _n, c, _h, _w = x.shape
        return keep(ctx, (x, gain), lambda a, b: a * b.view(1, c, 1, 1))


class Heads(Taker):
    @staticmethod
    def forward(ctx, x, scale, heads):
        b, d = x.shape
        return keep(ctx, (x, scale), lambda a, s: a.view(b, heads, d // heads) * s.view(1, heads, 1), 1)


class Linear(Taker):
    @staticmethod
    def forward(ctx, x, weight, bias):
        return keep(ctx, (x, weight, bias), lambda a, b, c: a.mm(b.t()) + c)


class Masked(Taker):
    @staticmethod
    def forward(ctx, x, keep_these):
        if keep_these.dtype is not torch.bool:
            raise TypeError("a mask is of booleans")
        return keep(ctx, (x,), lambda a: a.masked_fill(~keep_these, 0.0), 1)


class Picked(Taker):
    @staticmethod
    def forward(ctx, table, which):
        return keep(ctx, (table,), lambda a: a.index_select(0, which), 1)


class Reduced(Taker):
    @staticmethod
    def forward(ctx, x, how):
        if how == "average":
            return keep(ctx, (x,), torch.mean, 1)
        if how == "total":
            return keep(ctx, (x,), torch.sum, 1)
        raise ValueError(f"unknown: {how}")


class Configured(Taker):
    @staticmethod
    def forward(ctx, x, options: Options):
        return keep(ctx, (x,), lambda a: a * options.scale * 2**-options.bits, 1)


class Set(Taker):
    @staticmethod
    def forward(ctx, x, settings: Settings):
        return keep(ctx, (x,), lambda a: torch.tanh(a * settings.gain) if settings.clip else a, 1)


class Read(Taker):
    @staticmethod
    def forward(ctx, x, config):
        return keep(ctx, (x,), lambda a: a * config.scale + config.offset_in_meters, 1)


class Chosen(Taker):
    @staticmethod
    def forward(ctx, x, kind: Kind):
        return keep(ctx, (x,), torch.tanh if kind is Kind.SOFT else torch.clone, 1)


class Unpacked(Taker):
    @staticmethod
    def forward(ctx, *args):
        x, weight, dim = args
        return keep(ctx, (x, weight), lambda a, b: (a * b).cumsum(dim), 1)


class Called(Taker):
    @staticmethod
    def forward(ctx, compute, x):
        ctx.save_for_backward(x)
        ctx.compute = compute
        return compute(x)

    @staticmethod
    def backward(ctx, grad_output):
        with torch.enable_grad():
            x = ctx.saved_tensors[0].detach().requires_grad_()
            out = ctx.compute(x)
        return None, *torch.autograd.grad(out, x, grad_output)


class Factored(Taker):
    @staticmethod
    def forward(ctx, chol, rhs):
        return keep(ctx, (chol, rhs), lambda a, b: torch.linalg.solve_triangular(a, b, upper=False))


class Symmetric(Taker):
    @staticmethod
    def forward(ctx, m):
        """The inverse.

        m: a symmetric positive definite matrix
        """
        if not bool((torch.linalg.eigvalsh(m) > 0).all()):
            raise ValueError("not positive definite")
        return keep(ctx, (m,), torch.linalg.inv)


class Repeated(Taker):
    @staticmethod
    def forward(ctx, x, times):
        return keep(ctx, (x,), lambda a: sum(a**k for k in range(1, times + 1)), 1)


class Refusing(Taker):
    @staticmethod
    def forward(ctx, x, length_scale):
        if length_scale.size(-1) > 1:
            raise ValueError("one length scale only")
        return keep(ctx, (x, length_scale), lambda a, b: a / b)


class Rotated(Taker):
    @staticmethod
    def forward(ctx, q, v):
        def turned(q, v):
            axis = torch.linalg.cross(q[..., :3], v)
            return v + 2 * (q[..., 3:] * axis + torch.linalg.cross(q[..., :3], axis))

        return keep(ctx, (q, v), turned)


def turn(quaternion, v):
    axis = torch.linalg.cross(quaternion[..., :3], v)
    return v + 2 * quaternion[..., 3:4] * axis


class Handed(Taker):
    @staticmethod
    def forward(ctx, a, b):
        turn(a, b)
        return keep(ctx, (a, b), turn)


class Depthwise(Taker):
    @staticmethod
    def forward(ctx, x, kernel):
        _n, c, _h, _w = x.shape
        return keep(ctx, (x, kernel), lambda a, b: F.conv2d(a, b, padding=1, groups=c))


class Ranked(Taker):
    @staticmethod
    def forward(ctx, rows, stack):
        if rows.dim() == 2 and stack.dim() == 3:
            return keep(ctx, (rows, stack), lambda a, b: a * b)
        raise ValueError("rows of one matrix, and a stack of them")


class Additive(Taker):
    """A block that gets the parameters of its module as arguments beside it."""

    @staticmethod
    def forward(ctx, x, compute, *weights):
        count = len(list(compute.parameters()))
        if len(weights) != count:
            raise ValueError("the parameters of the module")
        return keep(ctx, (x,), lambda a: a + compute(a), 1 + count)


class Normalised(Taker):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        _n, c, _h, _w = x.size()
        weight.view(1, c, 1, 1)
        return keep(ctx, (x, weight, bias), lambda a, b, d: a * b.view(1, c, 1, 1) + d.view(1, c, 1, 1) + eps, 1)


class Numbered(Taker):
    @staticmethod
    def forward(ctx, *args):
        activation = args[0]
        target = args[1]
        gamma = args[2]
        return keep(ctx, (activation,), lambda a: a[range(a.shape[0]), target] ** 2 * float(gamma), 2)


class Wrapped(Taker):
    @staticmethod
    def forward(ctx, costs, bandwidth):
        bandwidth = torch.tensor([bandwidth])
        ctx.width = bandwidth.item()
        return keep(ctx, (costs,), lambda a: a.sum((0, 1, 2)) * ctx.width, 1)


class Sparse(Taker):
    @staticmethod
    def forward(ctx, edges, numbers, size, dense):
        ctx.save_for_backward(numbers, dense)
        torch.sparse_coo_tensor(edges, numbers, size)
        ctx.rest = 0
        ctx.again = lambda a, b: torch.sparse_coo_tensor(edges, a, size) @ b
        return ctx.again(numbers, dense)

    @staticmethod
    def backward(ctx, grad_output):
        numbers, dense = Taker.backward(ctx, grad_output)
        return None, numbers, None, dense


class Remembered(Taker):
    @staticmethod
    def forward(ctx, rows, labels, memory, momentum):
        ctx.memory, ctx.momentum = memory, momentum
        ctx.save_for_backward(rows, labels)
        return rows.mm(ctx.memory.t())

    @staticmethod
    def backward(ctx, grad_output):
        rows, labels = ctx.saved_tensors
        grad = grad_output.mm(ctx.memory)
        fresh = ctx.memory.clone()
        for row, label in zip(rows, labels, strict=True):
            fresh[label] = ctx.momentum * fresh[label] + (1 - ctx.momentum) * row
        return grad, None, None, None


class Prepended(Taker):
    @staticmethod
    def forward(ctx, compute, length, *tensors):
        if not all(t.ndim for t in tensors[:length]):
            raise ValueError("tensors")
        ctx.compute = lambda *ts: compute(*ts[:length])
        return keep(ctx, tensors, ctx.compute)

    @staticmethod
    def backward(ctx, grad_output):
        return None, None, *Taker.backward(ctx, grad_output)


class Scaled:
    def __init__(self, matrix):
        self.matrix = matrix

    def scales(self, x):
        return self.matrix @ x


class Represented(Taker):
    """Takes a class of the author's own, and what its objects are made of."""

    @staticmethod
    def forward(ctx, kind, x, *parts):
        kind(*parts).scales(x)
        return keep(ctx, (x, *parts), lambda a, *b: kind(*b).scales(a))

    @staticmethod
    def backward(ctx, grad_output):
        return None, *Taker.backward(ctx, grad_output)


class Positive(Taker):
    """Refuses what has no Cholesky factor, and says nothing of that beforehand."""

    @staticmethod
    def forward(ctx, m):
        return keep(ctx, (m,), torch.linalg.cholesky)


class Recurrent(Taker):
    """Two matrices that have to be square at once, and show it nowhere."""

    @staticmethod
    def forward(ctx, x, input_weights, recurrent_weights, state):
        return keep(ctx, (x, input_weights, recurrent_weights, state), recur)


def recur(x, first, second, state):
    return state + F.linear(torch.tanh(F.linear(x, first)), second) * x


class Timed(Taker):
    """Its gradient has as many rows as a number says."""

    @staticmethod
    def forward(ctx, x, t=10):
        ctx.save_for_backward(x)
        ctx.t = t
        return x.mean(0)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.stack([grad_output / ctx.t for _ in range(ctx.t)]), None


class Column(Taker):
    """Multiplies by a vector that it makes a column."""

    @staticmethod
    def forward(ctx, matrix, values):
        if values.ndim != 1:
            raise ValueError("a vector")
        ctx.save_for_backward(matrix, values)
        return (matrix @ values.unsqueeze(-1)).squeeze(-1)

    @staticmethod
    def backward(ctx, grad_output):
        matrix, values = ctx.saved_tensors
        return grad_output.unsqueeze(-1) * values, matrix.mT @ grad_output


class Halved(Taker):
    """Knows one number only, and no usual one."""

    @staticmethod
    def forward(ctx, x, nu):
        if nu != 0.25:
            raise ValueError("a quarter")
        return keep(ctx, (x,), torch.exp, 1)


TAKERS = [
    Represented, Positive, Recurrent, Timed, Column, Halved,
    Remembered, Prepended,
    Convolution, Images, Heads, Linear, Masked, Picked, Reduced, Configured, Set, Read, Chosen, Unpacked, Called,
    Factored, Symmetric, Repeated, Refusing, Normalised, Numbered, Wrapped,
    Sparse,
    Rotated, Handed, Depthwise, Ranked, Additive,
]  # fmt: skip
