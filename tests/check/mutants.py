"""For every probe, Functions with one fault that it alone reports. ``MUTANTS[probe]`` lists (name, class, inputs)."""

from __future__ import annotations

import threading
from collections.abc import Callable

import torch
from torch.autograd import Function

from mutants_of_numbers import (  # isort: skip
    DividesByLargest,
    FetchesToCpu,
    KeepsHalf,
    SavesTooMuch,
    SpikesAlone,
    VarianceOfSquares,
    AllLargest,
    BothAtTies,
    DifferentiatesInside,
    DividesByModulus,
    FromOutput,
    Halves,
    OverflowsForward,
    StoredSlope,
)

Inputs = Callable[[], tuple]


def randn(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()


def pair() -> tuple:
    return randn(3, 4), randn(3, 4, seed=1)


def one() -> tuple:
    return (randn(3, 4),)


def positive() -> tuple:
    return (randn(3, 4).detach().exp().requires_grad_(),)


def number() -> tuple:
    return (randn(1)[0],)


def phases() -> tuple:
    return (torch.complex(*(t.detach() for t in pair())).requires_grad_(),)


class Product(Function):
    """The right one, from which all others differ by a line or two."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        return (
            grad_output * w if ctx.needs_input_grad[0] else None,
            grad_output * x if ctx.needs_input_grad[1] else None,
        )


class TooFew(Product):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


class WrongFormula(Product):
    @staticmethod
    def backward(ctx, grad_output):
        gx, gw = Product.backward(ctx, grad_output)
        return gx if gx is None else gx * 1.000001, gw


class MutatesGradOutput(Product):
    @staticmethod
    def backward(ctx, grad_output):
        gx, gw = Product.backward(ctx, grad_output)
        grad_output.zero_()
        return gx, gw


class Uninitialised(Product):
    @staticmethod
    def backward(ctx, grad_output):
        gx, gw = Product.backward(ctx, grad_output)
        if gx is not None:
            empty = torch.empty_like(gx)
            empty[:-1] = gx[:-1]
            gx = empty
        return gx, gw


class DrawsAgain(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)  # a surrogate, so that nothing but the randomness can be wrong

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * torch.rand_like(grad_output)


class Views(Product):
    @staticmethod
    def backward(ctx, grad_output):
        return Product.backward(ctx, grad_output.view(-1).view(3, 4))


KEPT: dict[str, torch.Tensor] = {}


class Global(Product):
    @staticmethod
    def forward(ctx, x, w):
        KEPT["w"] = w
        return Product.forward(ctx, x, w)

    @staticmethod
    def backward(ctx, grad_output):
        gx, gw = Product.backward(ctx, grad_output)
        return gx if gx is None else grad_output * KEPT["w"], gw


class SpoilsForNext(Function):
    @staticmethod
    def forward(ctx, x):
        slope = 2 * x
        ctx.save_for_backward(slope)
        return x * x

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        (slope,) = ctx.saved_tensors
        result = slope.clone() * grad_output
        slope.data.mul_(2)
        return result


class OnContext(Product):
    @staticmethod
    def forward(ctx, x, w):
        ctx.w = w
        return Product.forward(ctx, x, w)


class NeedsBoth(Product):
    @staticmethod
    def forward(ctx, x, w):
        if ctx.needs_input_grad[0] and ctx.needs_input_grad[1]:
            ctx.save_for_backward(x, w)
        return x * w


class UnguardedNone(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return 2 * x, 3 * x

    @staticmethod
    def backward(ctx, g_two, g_three):
        return 2 * g_two + 3 * g_three


PARAMETER = torch.nn.Parameter(torch.tensor(1.5, dtype=torch.float64))


class Captured(Function):
    @staticmethod
    def forward(ctx, x):
        return x * PARAMETER

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * PARAMETER


class ReturnsInput(Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clone()


class Clipped(Product):
    @staticmethod
    def backward(ctx, grad_output):
        return Product.backward(ctx, grad_output.clamp(-10, 10))


class Reflect(torch.nn.Module):
    def forward(self, x):
        return 1.0 * x

    def backward(self, grad_output):
        return -grad_output


class OnCpu(Product):
    @staticmethod
    def backward(ctx, grad_output):
        gx, gw = Product.backward(ctx, grad_output)
        return gx if gx is None else gx + torch.zeros(3, 4, dtype=gx.dtype), gw


class MixesDtypes(Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w.t()

    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        return (
            grad_output @ w if ctx.needs_input_grad[0] else None,
            grad_output.t() @ x if ctx.needs_input_grad[1] else None,
        )


class Lowers(Product):
    @staticmethod
    def backward(ctx, grad_output):
        gx, gw = Product.backward(ctx, grad_output)
        return gx if gx is None else gx.float().double(), gw


class WrongJvp(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * ctx.saved_tensors[0] * grad_output

    @staticmethod
    def jvp(ctx, tangent):
        return 3 * ctx.saved_tensors[0] * tangent


class UnsavedForJvp(WrongJvp):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return tangent * 2 * x


class WrongVmap(WrongJvp):
    generate_vmap_rule = False

    @staticmethod
    def jvp(ctx, tangent):
        return 2 * ctx.saved_tensors[0] * tangent

    @staticmethod
    def vmap(info, in_dims, x):
        return WrongVmap.apply(x) + 1, in_dims[0]


class CountsCalls(Function):
    """Keeps fewer tensors at every call."""

    calls = 0

    @staticmethod
    def forward(ctx, x):
        CountsCalls.calls += 1
        ctx.save_for_backward(*[x] * max(1, 2000 - CountsCalls.calls))
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * ctx.saved_tensors[0] * grad_output


class Spike(Function):
    """A step at v - threshold; the threshold's gradient has the wrong sign."""

    @staticmethod
    def forward(ctx, v, threshold):
        ctx.save_for_backward(v, threshold)
        return (v > threshold).to(v.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        v, threshold = ctx.saved_tensors
        g = grad_output / (1 + (v - threshold).abs()) ** 2
        return g, g.sum()


def potential() -> tuple:
    return randn(3, 4), torch.tensor(0.2, dtype=torch.float64).requires_grad_()


class ReadsBeyond(Function):
    """Takes what lies in memory behind a saved tensor."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(torch.stack([x, 2 * x])[0])
        return x * x

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x.as_strided(x.shape, x.stride(), x.numel())


class OtherWhenCompiled(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x * (3 if torch.compiler.is_compiling() else 2)


class Reversal(Function):
    """What export makes of it has no reversal."""

    @staticmethod
    def forward(ctx, x):
        return x * 1.0

    @staticmethod
    def backward(ctx, grad_output):
        return -grad_output


class NeedsAnElement(Function):
    """Fails for an empty batch."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        largest = grad_output.abs().max()
        return 2 * x * (grad_output / largest) * largest


class AsksATensor(Function):
    """Fails beyond one element."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.abs()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return -grad_output if x < 0 else grad_output * 1.0


class Unpicklable(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()

    def forward(self, x):
        return Product.apply(x, x)


class ReversalForFunc(Function):
    """A gradient modifier in the form that torch.func takes; compiled, torch.func.grad looks into its forward."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * 1

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return -grad_output


class RoughInHalf(Function):
    """Exact enough in float32: a detour by 8 costs half precision all digits of small numbers."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x / 2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ((x + 8) - 8)


class Needless(Function):
    """Keeps more than autograd would."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, x * 2)
        return torch.exp(x).sin()

    @staticmethod
    def backward(ctx, grad_output):
        x, _ = ctx.saved_tensors
        return grad_output * torch.exp(x).cos() * torch.exp(x)


@torch.library.custom_op("pullbackmutants::double", mutates_args=())
def wrong_fake(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


@wrong_fake.register_fake
def _(x):
    return x.new_empty(1)


wrong_fake.register_autograd(lambda ctx, g: 2 * g)


MUTANTS: dict[str, list[tuple[str, type, Inputs]]] = {
    "contract": [("wrong-grad-count", TooFew, pair)],
    "values": [("wrong-derivative", WrongFormula, pair)],
    "mutation": [("grad-output-mutated", MutatesGradOutput, pair)],
    "fill": [("uninitialised-grad", Uninitialised, pair)],
    "rng": [("rng-not-saved", DrawsAgain, one)],
    "layout": [("noncontig-view", Views, pair)],
    "interleave": [("global-state", Global, pair)],
    "twice": [("saved-tensor-mutated", SpoilsForNext, one)],
    "lifetime": [("ctx-tensor-stale", OnContext, pair), ("saved-unused", SavesTooMuch, pair)],
    "frozen": [("frozen-input-crash", NeedsBoth, pair)],
    "outputs": [("none-grad-output", UnguardedNone, one), ("second-output-grad-dropped", SpikesAlone, one)],
    "captured": [("closure-captured-param", Captured, one)],
    "identity": [("returns-input-view", ReturnsInput, one)],
    "linearity": [("nonlinear-backward", Clipped, pair)],
    "bypassed": [("bypassed-backward", Reflect, one)],
    "device": [("hardcoded-device", OnCpu, pair), ("hardcoded-device", FetchesToCpu, pair)],
    "autocast": [("amp-dtype-mismatch", MixesDtypes, pair)],
    "dtypes": [("precision-downcast", Lowers, pair), ("precision-downcast", KeepsHalf, pair)],
    "extremes": [
        ("exp-overflow-nan", Halves, one),
        ("exp-overflow-nan", OverflowsForward, one),
        ("nan-at-kink", DividesByModulus, phases),
        ("nan-at-kink", DividesByLargest, positive),
    ],
    "ties": [("wrong-derivative", BothAtTies, pair), ("wrong-derivative", AllLargest, one)],
    "inner": [("inner-backward-call", DifferentiatesInside, pair)],
    "precision": [("float32-cancellation", FromOutput, one), ("float32-cancellation", VarianceOfSquares, one)],
    "second": [("double-backward-intermediate", StoredSlope, one)],
    "checkpointing": [("checkpoint-breaks", CountsCalls, one), ("checkpoint-breaks", ReadsBeyond, one)],
    "operator": [("custom-op-no-fake", wrong_fake, one)],
    "surrogates": [("surrogate-scale-wrong", Spike, potential)],
    "forward_mode": [("jvp-wrong", WrongJvp, one), ("save-for-forward-missing", UnsavedForJvp, one)],
    "compile": [("compile-wrong", OtherWhenCompiled, one)],
    "export": [("stack-drops-rule", Reversal, one)],
    "stacks": [("stack-drops-rule", ReversalForFunc, one)],
    "sizes": [("backward-raises", NeedsAnElement, one), ("backward-raises", AsksATensor, number)],
    "copying": [("not-picklable", Unpicklable, one)],
    "halves": [("float32-not-enough", RoughInHalf, one)],
    "needless": [("needless-function", Needless, one)],
    "vmap": [("vmap-rule-wrong", WrongVmap, one)],
}
