"""The Functions of the demo, as users write them: a forward, and a rule for each argument."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

import pullback as pb


@pb.function
def custom_gradient(x: Tensor) -> Tensor:
    """2·x, with a gradient of 3 instead of 2."""
    return 2 * x


@custom_gradient.grad("x")
def _(g: Tensor) -> Tensor:
    return 3 * g


@pb.function
def doubling(x: Tensor) -> Tensor:
    """2·x."""
    return 2 * x


@doubling.grad("x")
def _(g: Tensor) -> Tensor:
    return 2 * g


@pb.function
def square(x: Tensor) -> Tensor:
    """x²."""
    return x * x


@square.grad("x")
def _(g: Tensor, x: Tensor) -> Tensor:
    return 2 * x * g


@pb.function
def cube(x: Tensor) -> Tensor:
    """x³."""
    return x**3


@cube.grad("x")
def _(g: Tensor, x: Tensor) -> Tensor:
    return 3 * x**2 * g


@pb.function
def exponential(x: Tensor) -> Tensor:
    """The exponential, which is its own derivative."""
    return torch.exp(x)


@exponential.grad("x")
def _(g: Tensor, out: Tensor) -> Tensor:
    return out * g


@pb.function
def sum_of_squares(x: Tensor) -> Tensor:
    """Σ x²."""
    return (x * x).sum()


@sum_of_squares.grad("x")
def _(g: Tensor, x: Tensor) -> Tensor:
    return 2 * x * g


@pb.function
def root_plus_reciprocal(x: Tensor) -> Tensor:
    """√x + 1/x."""
    return x.sqrt() + 1 / x


@root_plus_reciprocal.grad("x")
def _(g: Tensor, x: Tensor) -> Tensor:
    return (0.5 / x.sqrt() - 1 / x**2) * g


@pb.function
def leaky(x: Tensor, slope: Tensor) -> Tensor:
    """The value x where x > 0, else slope·x."""
    return torch.where(x > 0, x, slope * x)


@leaky.grad("x")
def _(g: Tensor, x: Tensor, slope: Tensor) -> Tensor:
    return torch.where(x > 0, g, slope * g)


@leaky.grad("slope")
def _(g: Tensor, x: Tensor) -> Tensor:
    return torch.where(x > 0, 0, x * g)


@pb.function
def look_up(x: Tensor) -> Tensor:
    """Interpolation in the table 0, 1, 4, 9 by NumPy, which autograd cannot follow."""
    return torch.from_numpy(np.interp(x.numpy(), [0, 1, 2, 3], [0, 1, 4, 9])).to(x.dtype)


@look_up.grad("x")
def _(g: Tensor, x: Tensor) -> Tensor:
    return g * (2 * x.floor() + 1)


@pb.function
def softsign(x: Tensor) -> Tensor:
    """The activation x / (1 + |x|)."""
    return x / (1 + x.abs())


@softsign.grad("x")
def _(g: Tensor, out: Tensor) -> Tensor:
    return g * (1 - out.abs()).square()


@pb.function
def log1pexp(x: Tensor) -> Tensor:
    """The function log(1 + exp(x)), whose plain gradient is NaN at 100."""
    return torch.logaddexp(x, torch.zeros_like(x))


@log1pexp.grad("x")
def _(g: Tensor, x: Tensor) -> Tensor:
    return g * torch.sigmoid(x)


@pb.function
def limit_gradient(x: Tensor) -> Tensor:
    """The value x, with a gradient between -½ and ½."""
    return x


@limit_gradient.grad("x")
def _(g: Tensor) -> Tensor:
    return g.clamp(-0.5, 0.5)


@pb.function
def learnable_clamp(x: Tensor, low: Tensor, high: Tensor, scale: float = 1.0) -> Tensor:
    """clamp(x, low, high) · scale, with learnable thresholds."""
    below = (x < low) & (low <= high)
    above = torch.maximum(x, low) > high
    return pb.keep(torch.clamp(x, low, high) * scale, below=below, above=above)


@learnable_clamp.grad("x")
def _(g: Tensor, below: Tensor, above: Tensor, scale: float) -> Tensor:
    return g * scale * ~(below | above)


@learnable_clamp.grad("low")
def _(g: Tensor, below: Tensor, scale: float) -> Tensor:
    return g * scale * below


@learnable_clamp.grad("high")
def _(g: Tensor, above: Tensor, scale: float) -> Tensor:
    return g * scale * above


@pb.function
def quantize(x: Tensor, step: Tensor, levels: int = 8) -> Tensor:
    """The multiple of a learned step that is nearest to x, of those from -levels to levels."""
    return torch.round((x / step).clamp(-levels, levels)) * step


@quantize.grad("x")
def _(g: Tensor, x: Tensor, step: Tensor, levels: int) -> Tensor:
    return g * ((x / step).abs() <= levels)  # straight through the rounding, but not through the limits


@quantize.grad("step")
def _(g: Tensor, x: Tensor, step: Tensor, levels: int) -> Tensor:
    steps = x / step
    return g * (torch.round(steps.clamp(-levels, levels)) - steps * (steps.abs() <= levels))


class LearnableClamp(nn.Module):
    """`learnable_clamp` as a layer that owns its thresholds."""

    def __init__(self, low: float = -150.0, high: float = 150.0, scale: float = 1.0) -> None:
        super().__init__()
        self.low = nn.Parameter(torch.tensor(low))
        self.high = nn.Parameter(torch.tensor(high))
        self.scale = scale

    def forward(self, x: Tensor) -> Tensor:
        """The clamped input."""
        return learnable_clamp(x, self.low, self.high, self.scale)


class Quantizer(nn.Module):
    """`quantize` as a layer that owns its step."""

    def __init__(self, step: float, levels: int = 8) -> None:
        super().__init__()
        self.step = nn.Parameter(torch.tensor(step))
        self.levels = levels

    def forward(self, x: Tensor) -> Tensor:
        """The input, rounded to the step."""
        return quantize(x, self.step, self.levels)
