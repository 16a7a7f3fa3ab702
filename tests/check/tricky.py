"""Right Functions that look odd: nothing above a note may be said about them. ``RIGHT``: class and inputs."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from mutants import Inputs, randn  # isort: skip

custom_fwd = torch.amp.custom_fwd(device_type="cpu")
wide_fwd = torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
custom_bwd = torch.amp.custom_bwd(device_type="cpu")

RIGHT: dict[str, tuple[type[Function], Inputs]] = {}


def right(*shapes, extra=(), positive=False):
    """Enter a class into the table, with random inputs of the shapes and further arguments."""

    def enter(cls):
        def inputs():
            tensors = [randn(*shape, seed=k) for k, shape in enumerate(shapes)]
            if positive:
                tensors = [(t.detach().abs() + 0.3).requires_grad_() for t in tensors]
            return (*tensors, *extra)

        RIGHT[cls.__name__] = cls, inputs
        return cls

    return enter


@right((3, 4), (5, 4), (5,))
class Linear(Function):
    @staticmethod
    @custom_fwd
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return x @ weight.t() + bias

    @staticmethod
    @custom_bwd
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        gx = gw = gb = None
        if ctx.needs_input_grad[0]:
            gx = grad_output @ weight
        if ctx.needs_input_grad[1]:
            gw = grad_output.t() @ x
        if ctx.needs_input_grad[2]:
            gb = grad_output.sum(0)
        return gx, gw, gb


@right((2, 3, 6, 6), (4, 3, 3, 3))
class Conv(Function):
    @staticmethod
    @wide_fwd
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return F.conv2d(x, weight, padding=1)

    @staticmethod
    @custom_bwd
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        return (
            torch.nn.grad.conv2d_input(x.shape, weight, grad_output, padding=1),
            torch.nn.grad.conv2d_weight(x, weight.shape, grad_output, padding=1),
        )


@right((4, 6), (6,), (6,))
class LayerNorm(Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps=1e-5):
        mean = x.mean(-1, keepdim=True)
        rstd = torch.rsqrt(x.var(-1, unbiased=False, keepdim=True) + eps)
        normed = (x - mean) * rstd
        ctx.save_for_backward(normed, rstd, weight)
        return normed * weight + bias

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        normed, rstd, weight = ctx.saved_tensors
        g = grad_output * weight
        inner = g - g.mean(-1, keepdim=True) - normed * (g * normed).mean(-1, keepdim=True)
        return rstd * inner, (grad_output * normed).sum(0), grad_output.sum(0), None


@right((3, 5))
class LogSumExp(Function):
    @staticmethod
    def forward(ctx, x):
        out = torch.logsumexp(x, -1)
        ctx.save_for_backward(x, out)
        return out

    @staticmethod
    def backward(ctx, grad_output):
        x, out = ctx.saved_tensors
        return grad_output.unsqueeze(-1) * torch.exp(x - out.unsqueeze(-1))


@right((6, 3), extra=(torch.tensor([0, 2, 0, 1, 2, 0]),))
class ScatterSum(Function):
    @staticmethod
    def forward(ctx, x, index):
        ctx.save_for_backward(index)
        return x.new_zeros(3, x.shape[1]).index_add(0, index, x)

    @staticmethod
    def backward(ctx, grad_output):
        (index,) = ctx.saved_tensors
        return grad_output.index_select(0, index), None


@right((5, 4), extra=(torch.tensor([[0, 1, 1, 3], [4, 0, 2, 2]]),))
class Gather(Function):
    @staticmethod
    def forward(ctx, x, index):
        ctx.save_for_backward(index)
        ctx.shape = x.shape
        return x.gather(0, index)

    @staticmethod
    def backward(ctx, grad_output):
        (index,) = ctx.saved_tensors
        return grad_output.new_zeros(ctx.shape).scatter_add(0, index, grad_output), None


@right((2, 3, 4), (2, 4, 5))
class Einsum(Function):
    @staticmethod
    @custom_fwd
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return torch.einsum("bij,bjk->bik", a, b)

    @staticmethod
    @custom_bwd
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        return torch.einsum("bik,bjk->bij", grad_output, b), torch.einsum("bij,bik->bjk", a, grad_output)


@right((2, 4, 3), (2, 4, 3), (2, 4, 3))
class Attention(Function):
    @staticmethod
    @custom_fwd
    def forward(ctx, q, k, v):
        scale = 1 / math.sqrt(q.shape[-1])
        p = torch.softmax(q @ k.mT * scale, -1)
        ctx.save_for_backward(q, k, v, p)
        ctx.scale = scale
        return p @ v

    @staticmethod
    @once_differentiable
    @custom_bwd
    def backward(ctx, grad_output):
        q, k, v, p = ctx.saved_tensors
        gp = grad_output @ v.mT
        gs = p * (gp - (gp * p).sum(-1, keepdim=True)) * ctx.scale
        return gs @ k, gs.mT @ q, p.mT @ grad_output


@right((7,))
class CumSum(Function):
    @staticmethod
    def forward(ctx, x):
        return x.cumsum(0)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.flip(0).cumsum(0).flip(0)


@right((4, 5), extra=(torch.tensor([1, 0, 4, 2]), "mean"))
class CrossEntropy(Function):
    @staticmethod
    def forward(ctx, logits, target, reduction="mean"):
        logp = torch.log_softmax(logits, -1)
        ctx.save_for_backward(logp, target)
        ctx.reduction = reduction
        loss = -logp.gather(1, target[:, None]).squeeze(1)
        return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        logp, target = ctx.saved_tensors
        grad = logp.exp()
        grad[torch.arange(len(target)), target] -= 1
        if ctx.reduction == "mean":
            return grad * (grad_output / len(target)), None, None
        return grad * (grad_output if ctx.reduction == "sum" else grad_output[:, None]), None, None


@right((3, 4))
class HuberSum(Function):
    @staticmethod
    def forward(ctx, x, delta=1.0):
        ctx.save_for_backward(x)
        ctx.delta = delta
        a = x.abs()
        return torch.where(a <= delta, 0.5 * x * x, delta * (a - 0.5 * delta)).sum()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x.clamp(-ctx.delta, ctx.delta), None


@right((1, 2, 5))
class Interpolate(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.size = x.shape[-1]
        return 0.5 * (x[..., 1:] + x[..., :-1])

    @staticmethod
    def backward(ctx, grad_output):
        grad = grad_output.new_zeros(*grad_output.shape[:-1], ctx.size)
        grad[..., 1:] += 0.5 * grad_output
        grad[..., :-1] += 0.5 * grad_output
        return grad


@right((4, 6))
class SortedValues(Function):
    @staticmethod
    def forward(ctx, x):
        values, order = x.sort(-1)
        ctx.save_for_backward(order)
        ctx.mark_non_differentiable(order)
        return values, order

    @staticmethod
    def backward(ctx, grad_values, grad_order):
        (order,) = ctx.saved_tensors
        return torch.zeros_like(grad_values).scatter(-1, order, grad_values)


@right((3, 4), (3, 4))
class SumAndProduct(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(a, b)
        return a + b, a * b, "done"

    @staticmethod
    def backward(ctx, g_sum, g_product, _):
        a, b = ctx.saved_tensors
        ga = gb = None
        if g_sum is not None:
            ga = gb = g_sum
        if g_product is not None:
            ga = g_product * b if ga is None else ga + g_product * b
            gb = g_product * a if gb is None else gb + g_product * a
        return ga, gb


@right((3, 4))
class InPlaceScale(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(3)

    @staticmethod
    def backward(ctx, grad_output):
        return 3 * grad_output


@right((3, 4))
class Dropout(Function):
    @staticmethod
    def forward(ctx, x, p=0.5):
        mask = (torch.rand_like(x) > p).to(x.dtype) / (1 - p)
        ctx.save_for_backward(mask)
        return x * mask

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0], None


@right((4, 4))
class Checkpointed(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(x) @ torch.cos(x)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            out = torch.sin(x) @ torch.cos(x)
        return torch.autograd.grad(out, x, grad_output)[0]


@right((3, 4))
class ClampBySign(Function):
    """Clamp whose gradient also passes where it leads back inside."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(-1, 1)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        inside = (x >= -1) & (x <= 1)
        inward = ((x < -1) & (grad_output < 0)) | ((x > 1) & (grad_output > 0))
        return grad_output * (inside | inward)


@right((3, 4), (1,), positive=True)
class FakeQuantise(Function):
    """Learned step size: x straight through inside, the step by its own rule."""

    @staticmethod
    def forward(ctx, x, step):
        scaled = x / step
        code = scaled.round().clamp(-8, 7)
        ctx.save_for_backward(scaled, code)
        return code * step

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        scaled, code = ctx.saved_tensors
        inside = ((scaled >= -8) & (scaled <= 7)).to(grad_output.dtype)
        step = (grad_output * torch.where(inside > 0, code - scaled, code)).sum().reshape(1)
        return grad_output * inside, step


@right((5, 3), (4, 3))
class NearestCode(Function):
    """Vector quantisation: straight through to the input, the codebook by its own contributions."""

    @staticmethod
    def forward(ctx, x, codebook):
        index = torch.cdist(x, codebook).argmin(1)
        ctx.save_for_backward(index)
        ctx.rows = codebook.shape[0]
        return codebook[index]

    @staticmethod
    def backward(ctx, grad_output):
        (index,) = ctx.saved_tensors
        book = grad_output.new_zeros(ctx.rows, grad_output.shape[1]).index_add(0, index, grad_output)
        return grad_output, book


@right((3, 5))
class GumbelHard(Function):
    """One-hot of noisy logits, with the gradient of the softmax: straight through."""

    @staticmethod
    def forward(ctx, logits):
        noise = -torch.log(-torch.log(torch.rand_like(logits).clamp(1e-6, 1 - 1e-6)))
        y = torch.softmax(logits + noise, -1)
        ctx.save_for_backward(y)
        return F.one_hot(y.argmax(-1), logits.shape[-1]).to(logits.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (grad_output - (grad_output * y).sum(-1, keepdim=True))


@right((4, 4))
class SymmetricEig(Function):
    @staticmethod
    def forward(ctx, x):
        values, vectors = torch.linalg.eigh(0.5 * (x + x.mT))
        ctx.save_for_backward(vectors)
        return values

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (v,) = ctx.saved_tensors
        return v @ torch.diag(grad_output) @ v.mT


@right((3, 3), (3,))
class Solve(Function):
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
        gb = torch.linalg.solve(a.mT, grad_output)
        return -torch.outer(gb, x), gb


@right((6,))
class ComplexModulus(Function):
    @staticmethod
    def forward(ctx, x):
        z = torch.fft.fft(x)
        ctx.save_for_backward(z)
        ctx.n = x.shape[-1]
        return z.real**2 + z.imag**2

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (z,) = ctx.saved_tensors
        return torch.fft.ifft(2 * grad_output * z).real * ctx.n


@right((2, 3), (2, 3))
class Identity2(Function):
    """Passes two tensors through and scales their gradients, as loss balancing does."""

    @staticmethod
    def forward(ctx, a, b):
        return a.clone(), b.clone()

    @staticmethod
    def backward(ctx, ga, gb):
        return 0.5 * ga, 2.0 * gb


@right((3, 4), extra=(None, 2, True))
class OptionalBias(Function):
    @staticmethod
    def forward(ctx, x, bias, power, keep):
        ctx.save_for_backward(x)
        ctx.power, ctx.has_bias = power, bias is not None
        out = x**power
        return out if bias is None else out + bias

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        gb = grad_output.sum(0) if ctx.has_bias and ctx.needs_input_grad[1] else None
        return grad_output * ctx.power * x ** (ctx.power - 1), gb, None, None


@right((2, 3), (4, 3))
class Distances(Function):
    @staticmethod
    def forward(ctx, a, b):
        d = a[:, None] - b[None]
        r = d.norm(dim=-1)
        ctx.save_for_backward(d, r)
        return r

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        d, r = ctx.saved_tensors
        unit = d / r.clamp_min(1e-12)[..., None]
        g = grad_output[..., None] * unit
        return g.sum(1), -g.sum(0)


@right((5,), positive=True)
class LogGamma(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.lgamma(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * torch.digamma(ctx.saved_tensors[0])
