"""Four reasons to write a gradient of your own.

1. Autograd cannot do it: rounding to a learned step has a derivative of zero, and a NumPy routine has none.
2. Memory and speed: a formula of several steps keeps several tensors; its gradient needs one.
3. Numerical stability: a formula that is right on paper, and whose plain gradient is NaN.
4. Custom optimization: a gradient modifier changes what training does, and leaves the values as they are.

Where none of these holds, plain PyTorch is the better choice.
"""

import time

import numpy as np
import torch

import pullback as pb

# ---- the classic form


class Quantize(torch.autograd.Function):
    """Rounding x to multiples of a learned step."""

    @staticmethod
    def forward(ctx, x, step):
        ctx.save_for_backward(x, step)
        return torch.round(x / step) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, step = ctx.saved_tensors
        return grad_output, (grad_output * (torch.round(x / step) - x / step)).sum()


class LookUp(torch.autograd.Function):
    """Linear interpolation in the table 0, 1, 4, 9 by NumPy."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.from_numpy(np.interp(x.numpy(), [0, 1, 2, 3], [0, 1, 4, 9])).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (2 * x.floor() + 1)


class Softsign(torch.autograd.Function):
    """The activation x / (1 + |x|)."""

    @staticmethod
    def forward(ctx, x):
        out = x / (1 + x.abs())
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, grad_output):
        (out,) = ctx.saved_tensors
        return grad_output * (1 - out.abs()).square()


class Log1pExp(torch.autograd.Function):
    """The function log(1 + exp(x))."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.logaddexp(x, torch.zeros_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(x)


class LimitGradient(torch.autograd.Function):
    """The value x, with a gradient between -5 and 5."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-5, 5)


# ---- the same with pullback


@pb.function
def quantize(x, step):
    """Rounding x to multiples of a learned step."""
    return torch.round(x / step) * step


@quantize.grad("x")
def _(g):
    return g  # straight through


@quantize.grad("step")
def _(g, x, step):
    return g * (torch.round(x / step) - x / step)


@pb.function
def look_up(x):
    """Linear interpolation in the table 0, 1, 4, 9 by NumPy."""
    return torch.from_numpy(np.interp(x.numpy(), [0, 1, 2, 3], [0, 1, 4, 9])).to(x.dtype)


@look_up.grad("x")
def _(g, x):
    return g * (2 * x.floor() + 1)


@pb.function
def softsign(x):
    """The activation x / (1 + |x|)."""
    return x / (1 + x.abs())


@softsign.grad("x")
def _(g, out):
    return g * (1 - out.abs()).square()


@pb.function
def log1pexp(x):
    """The function log(1 + exp(x))."""
    return torch.logaddexp(x, torch.zeros_like(x))


@log1pexp.grad("x")
def _(g, x):
    return g * torch.sigmoid(x)


@pb.function
def limit_gradient(x):
    """The value x, with a gradient between -5 and 5."""
    return x


@limit_gradient.grad("x")
def _(g):
    return g.clamp(-5, 5)


# ---- plain PyTorch, to compare with


def plain_quantize(x, step):
    """The gradient of x is zero, and that of step misses -x/step."""
    return torch.round(x / step) * step


def plain_softsign(x):
    """Keeps x and 1 + |x|."""
    return x / (1 + x.abs())


def plain_log1pexp(x):
    """At x = 100, exp(x) is infinite in float32, and the gradient inf/inf."""
    return torch.log(1 + torch.exp(x))


# ---- what they do


def quantized(op) -> tuple[list[float], list[float], float]:
    """Values at [0.625, 1.375, -0.875] with step 0.5; the gradients of x and step."""
    x, step = torch.tensor([0.625, 1.375, -0.875], requires_grad=True), torch.tensor(0.5, requires_grad=True)
    y = op(x, step)
    y.sum().backward()
    return y.tolist(), x.grad.tolist(), step.grad.item()


def gradient(op, at: list[float]) -> tuple[list[float], list[float]]:
    """The values and the gradient at some numbers."""
    x = torch.tensor(at, requires_grad=True)
    y = op(x)
    y.sum().backward()
    return y.tolist(), x.grad.tolist()


def numpy_alone() -> str:
    """What becomes of a NumPy routine without a gradient of its own."""
    try:
        np.interp(torch.tensor([0.5], requires_grad=True).numpy(), [0, 1], [0, 1])
    except RuntimeError as error:
        return str(error)
    return "nothing"


def kept_tensors(op) -> int:
    """How many tensors of the size of x wait for backward."""
    addresses = set()

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        addresses.add(tensor.data_ptr())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out = op(torch.zeros(1000, requires_grad=True))
    del out
    return len(addresses)


def milliseconds(op, elements: int = 1_000_000, runs: int = 5) -> float:
    """The best time of forward and backward, of several."""
    times = []
    for _ in range(runs):
        x = torch.zeros(elements, requires_grad=True)
        start = time.perf_counter()
        op(x).sum().backward()
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


def trained(modifier, steps: int = 200) -> float:
    """Where w = 13 gets to on the loss cosh(w - 3), whose gradient there is 11013; the answer is 3."""
    w = torch.tensor(13.0, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        torch.cosh(modifier(w) - 3).backward()
        optimizer.step()
    return w.item()


def main() -> None:
    """Print all of it."""
    print("1. what autograd cannot do: rounding x = [0.625, 1.375, -0.875] to a learned step of 0.5")
    for name, op in {"plain": plain_quantize, "classic": Quantize.apply, "pullback": quantize}.items():
        y, dx, dstep = quantized(op)
        print(f"   {name:10}{y}   gradient of x {dx}   of step {dstep}")
    print("   and a NumPy routine: a table look-up at [0.5, 1.5, 2.5]")
    print(f"   plain     {numpy_alone()}")
    for name, op in {"classic": LookUp.apply, "pullback": look_up}.items():
        y, dx = gradient(op, [0.5, 1.5, 2.5])
        print(f"   {name:10}{y}   gradient {dx}")

    print("\n2. memory and speed: x / (1 + |x|) at [-3, 0, 1]")
    for name, op in {"plain": plain_softsign, "classic": Softsign.apply, "pullback": softsign}.items():
        y, dx = gradient(op, [-3.0, 0.0, 1.0])
        cost = f"tensors kept: {kept_tensors(op)}   {milliseconds(op):4.1f} ms for a million"
        print(f"   {name:10}{y}   gradient {dx}   {cost}")

    print("\n3. numerical stability: log(1 + exp(x)) at [0, 100]")
    for name, op in {"plain": plain_log1pexp, "classic": Log1pExp.apply, "pullback": log1pexp}.items():
        y, dx = gradient(op, [0.0, 100.0])
        print(f"   {name:10}{[round(v, 4) for v in y]}   gradient {dx}")

    print("\n4. custom optimization: minimizing cosh(w - 3) from w = 13")
    for name, op in {"plain": lambda w: w, "classic": LimitGradient.apply, "pullback": limit_gradient}.items():
        print(f"   {name:10}w = {trained(op):.3f}")


if __name__ == "__main__":
    main()
