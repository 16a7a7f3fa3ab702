"""Faulty Functions of many kinds; ``WRONG[name]`` gives class, inputs and the names that are true of the fault."""

from __future__ import annotations

import math

import numpy
import torch
import torch.nn.functional as F
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from mutants import Inputs, randn  # isort: skip

WRONG: dict[str, tuple[type[Function], Inputs, tuple[str, ...]]] = {}


def wrong(*names, shapes, extra=(), positive=False):
    """Enter a class into the table, with random inputs of the shapes and further arguments."""

    def enter(cls):
        def inputs():
            tensors = [randn(*shape, seed=k) for k, shape in enumerate(shapes)]
            if positive:
                tensors = [(t.detach().abs() + 0.3).requires_grad_() for t in tensors]
            return (*tensors, *extra)

        WRONG[cls.__name__] = cls, inputs, names
        return cls

    return enter


@wrong("nan-at-kink", "wrong-derivative", shapes=[(2, 6)])
class CumProdByQuotient(Function):
    @staticmethod
    def forward(ctx, x):
        out = x.cumprod(-1)
        ctx.save_for_backward(x, out)
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        return (grad_output * out).flip(-1).cumsum(-1).flip(-1) / x


@wrong("wrong-derivative", shapes=[(7,)])
class CumSumNotFlipped(Function):
    @staticmethod
    def forward(ctx, x):
        return x.cumsum(0)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.cumsum(0)


@wrong("statistic-treated-constant", "wrong-derivative", shapes=[(4, 6), (6,)])
class LayerNormHalf(Function):
    """The term through the variance is missing."""

    @staticmethod
    def forward(ctx, x, weight):
        mean = x.mean(-1, keepdim=True)
        rstd = torch.rsqrt(x.var(-1, unbiased=False, keepdim=True) + 1e-5)
        ctx.save_for_backward((x - mean) * rstd, rstd, weight)
        return (x - mean) * rstd * weight

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        normed, rstd, weight = ctx.saved_tensors
        g = grad_output * weight
        return rstd * (g - g.mean(-1, keepdim=True)), (grad_output * normed).sum(0)


@wrong("missing-transpose", "wrong-derivative", shapes=[(2, 4, 4), (2, 4, 4)])
class BatchedProduct(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return torch.bmm(a, b)

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        return torch.bmm(grad_output, b), torch.bmm(a.mT, grad_output)


@wrong("elementwise-jacobian", "wrong-derivative", shapes=[(3, 5)])
class SoftmaxDiagonal(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.softmax(x, -1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y)


@wrong("wrong-derivative", "grad-output-scalarised", "wrong-reduction-axis", shapes=[(3, 5)])
class LogSoftmaxMeanAxis(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.log_softmax(x, -1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output - y.exp() * grad_output.sum(0, keepdim=True)


@wrong("duplicate-index-overwrite", "wrong-derivative", shapes=[(5, 4)], extra=(torch.tensor([0, 1, 1, 3, 0]),))
class RowsTaken(Function):
    @staticmethod
    def forward(ctx, x, index):
        ctx.save_for_backward(index)
        ctx.shape = x.shape
        return x[index]

    @staticmethod
    def backward(ctx, grad_output):
        (index,) = ctx.saved_tensors
        grad = grad_output.new_zeros(ctx.shape)
        grad[index] = grad_output
        return grad, None


@wrong("duplicate-index-overwrite", "wrong-derivative", shapes=[(5, 4)],
       extra=(torch.tensor([[0, 1, 1, 3], [0, 0, 2, 2]]),))  # fmt: skip
class GatherOverwritten(Function):
    @staticmethod
    def forward(ctx, x, index):
        ctx.save_for_backward(index)
        ctx.shape = x.shape
        return x.gather(0, index)

    @staticmethod
    def backward(ctx, grad_output):
        (index,) = ctx.saved_tensors
        return grad_output.new_zeros(ctx.shape).scatter(0, index, grad_output), None


@wrong("complex-conj", "wrong-derivative", shapes=[(6,)])
class ComplexSquare(Function):
    @staticmethod
    def forward(ctx, x):
        z = torch.fft.fft(x)
        ctx.save_for_backward(z)
        return z * z

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (z,) = ctx.saved_tensors
        return (torch.fft.ifft(2 * z * grad_output) * z.shape[-1]).real


@wrong("param-grad-averaged", "wrong-derivative", shapes=[(6, 3), (4, 3), (4,)])
class LinearMeanBias(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return x @ weight.t() + bias

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        return grad_output @ weight, grad_output.t() @ x, grad_output.mean(0)


@wrong("reduction-mismatch", "wrong-derivative", shapes=[(4, 5)], extra=(torch.tensor([1, 0, 4, 2]),))
class CrossEntropyNotAveraged(Function):
    @staticmethod
    def forward(ctx, logits, target):
        logp = torch.log_softmax(logits, -1)
        ctx.save_for_backward(logp, target)
        return -logp.gather(1, target[:, None]).mean()

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        logp, target = ctx.saved_tensors
        grad = logp.exp()
        grad[torch.arange(len(target)), target] -= 1
        return grad * grad_output, None


@wrong("mask-not-applied", "wrong-derivative", shapes=[(3, 4)], extra=(torch.arange(12).reshape(3, 4) % 3 > 0,))
class MaskedFill(Function):
    @staticmethod
    def forward(ctx, x, mask):
        return x.exp().masked_fill(mask, 0.0) + 0 * ctx_free(ctx, x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0], None


def ctx_free(ctx, x):
    ctx.save_for_backward(x.detach().exp())
    return x


@wrong("swapped-gradients", "wrong-derivative", shapes=[(3, 4), (3, 4)])
class AtanSwapped(Function):
    @staticmethod
    def forward(ctx, y, x):
        ctx.save_for_backward(y, x)
        return torch.atan2(y, x)

    @staticmethod
    def backward(ctx, grad_output):
        y, x = ctx.saved_tensors
        r = x * x + y * y
        return -grad_output * y / r, grad_output * x / r


@wrong("second-output-grad-dropped", "wrong-derivative", shapes=[(4, 6)])
class MeanAndStd(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.mean(-1), x.std(-1)

    @staticmethod
    def backward(ctx, g_mean, g_std):
        (x,) = ctx.saved_tensors
        return (g_mean / x.shape[-1])[:, None].expand_as(x)


@wrong("rng-not-saved", shapes=[(3, 4)])
class NoisyRelu(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        slope = torch.rand_like(x)
        return torch.where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, grad_output, torch.rand_like(x) * grad_output)


@wrong("grad-output-mutated", shapes=[(3, 4)])
class ReluInPlace(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_output[x <= 0] = 0
        return grad_output


@wrong("saved-tensor-mutated", "wrong-derivative", shapes=[(3, 4)])
class SavedOverwritten(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y.clone())
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y.mul_(1 - y).mul_(grad_output)


@wrong("wrong-derivative", shapes=[(3, 4)])
class GeluConstant(Function):
    """The constant of the tanh form in backward differs from the one in forward."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        k = math.sqrt(2 / math.pi)
        t = torch.tanh(k * (x + 0.044715 * x**3))
        return grad_output * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * k * (1 + 0.044715 * x**2))


@wrong("wrong-derivative", shapes=[(2, 3)], positive=True)
class PowerOff(Function):
    @staticmethod
    def forward(ctx, x, p=3.0):
        ctx.save_for_backward(x)
        ctx.p = p
        return x**p

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ctx.p * x**ctx.p, None


@wrong("wrong-grad-count", shapes=[(3, 4)], extra=(2.0, True))
class OneNoneMissing(Function):
    @staticmethod
    def forward(ctx, x, scale, flag):
        ctx.scale = scale
        return x * scale

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.scale, None


@wrong("noncontig-view", shapes=[(12,)])
class FlattenedView(Function):
    @staticmethod
    def forward(ctx, x):
        return x.reshape(3, 4) * 2

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output.view(12)


@wrong("noncontig-raw-memory", "wrong-derivative", shapes=[(3, 4)])
class StridedAsIs(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        return 2 * torch.as_strided(grad_output, (3, 4), (4, 1)).clone()


@wrong("wrong-derivative", "missing-transpose", "swapped-gradients", shapes=[(3, 3), (3,)])
class SolveNotTransposed(Function):
    @staticmethod
    def forward(ctx, a, b):
        a = a + 4 * torch.eye(3, dtype=a.dtype, device=a.device)
        x = torch.linalg.solve(a, b)
        ctx.save_for_backward(a, x)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        a, x = ctx.saved_tensors
        gb = torch.linalg.solve(a, grad_output)
        return -torch.outer(gb, x), gb


@wrong("wrong-derivative", "param-grad-none", shapes=[(5, 3), (4, 3)])
class DistancesOneSide(Function):
    @staticmethod
    def forward(ctx, a, b):
        d = a[:, None] - b[None]
        ctx.save_for_backward(d)
        return (d * d).sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        (d,) = ctx.saved_tensors
        return 2 * (grad_output[..., None] * d).sum(1), None


@wrong("wrong-derivative", shapes=[(1, 2, 6)])
class InterpolateEdge(Function):
    """Right but for the last column."""

    @staticmethod
    def forward(ctx, x):
        ctx.size = x.shape[-1]
        return 0.5 * (x[..., 1:] + x[..., :-1])

    @staticmethod
    def backward(ctx, grad_output):
        grad = F.pad(0.5 * grad_output, (0, 1))
        grad[..., 1:-1] += 0.5 * grad_output[..., :-1]
        return grad


@wrong("wrong-derivative", "once-differentiable-missing", shapes=[(3, 4)])
class NumpyWrong(Function):
    @staticmethod
    def forward(ctx, x):
        values = x.detach().numpy()
        ctx.save_for_backward(x)
        return torch.from_numpy(numpy.arctan(values))

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output / (1 + x.abs()) ** 2


@wrong("wrong-derivative", "statistic-treated-constant", shapes=[(2, 4, 3), (2, 4, 3)])
class AttentionNoScale(Function):
    @staticmethod
    def forward(ctx, q, k):
        p = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
        ctx.save_for_backward(q, k, p)
        return p

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        q, k, p = ctx.saved_tensors
        gs = p * (grad_output - (grad_output * p).sum(-1, keepdim=True))
        return gs @ k, gs.mT @ q


@wrong("double-backward-intermediate", shapes=[(3, 4)])
class StoredSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        s = torch.sigmoid(x)
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx, grad_output):
        x, s = ctx.saved_tensors
        return grad_output * (s + x * s * (1 - s))


@wrong("exp-overflow-nan", "nonfinite-at-extreme", shapes=[(3, 4)])
class SoftplusExp(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.softplus(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x.exp() / (1 + x.exp())


@wrong("nan-at-kink", "nonfinite-at-extreme", shapes=[(4, 3)])
class NormAtZero(Function):
    @staticmethod
    def forward(ctx, x):
        n = x.norm(dim=-1, keepdim=True)
        ctx.save_for_backward(x, n)
        return n

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        x, n = ctx.saved_tensors
        return grad_output * x / n


@wrong("ctx-tensor-stale", shapes=[(3, 4)])
class KeptOnContext(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x.square()

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * ctx.x * grad_output


@wrong("global-state", "wrong-derivative", shapes=[(3, 4)])
class LastCall(Function):
    last = None

    @staticmethod
    def forward(ctx, x):
        LastCall.last = x.detach().clone()
        return x.square()

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * LastCall.last * grad_output
