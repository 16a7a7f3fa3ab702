"""Quantisers whose range is learnt."""

from __future__ import annotations

import math

import torch

from pullback.define.decorate import function
from pullback.define.keep import keep
from pullback.functional.limits import positive
from pullback.functional.record import Parameter, entry

FAMILY = "quantiser"


@entry(
    FAMILY,
    "min(max(round(x / step), low), high) * step",
    gradient={
        "x": "where(low <= x / step <= high, g, 0)",
        "step": "g * where(low < x / step < high, round(x / step) - x / step, clamp(x / step, low, high)) / sqrt(high)",
    },
    parameters={"step": Parameter(0.1, above=0.0)},
    source="Esser, McKinstry, Bablani, Appuswamy, Modha 2019, arXiv:1902.08153",
    module="LSQ",
    unfused="its gradient counts the elements that share a step",
)
@function
def lsq(x: torch.Tensor, step: torch.Tensor, low: int = -128, high: int = 127) -> torch.Tensor:
    """x rounded to a multiple of a learned step between ``low`` and ``high`` steps.

    The gradient of the step is scaled by 1/√(n·high), where n is the number of elements that share it.

    Example:
        >>> lsq(torch.tensor([0.26, 0.12, 9.0]), torch.tensor(0.25), low=-4, high=3)
        tensor([0.2500, 0.0000, 0.7500])
    """
    positive("lsq", "step", step)
    positive("lsq", "high - low", high - low)
    return (torch.round(x / step).clamp(low, high) * step).to(x.dtype)


@lsq.grad("x", surrogate=True)
def _(g: torch.Tensor, x: torch.Tensor, step: torch.Tensor, low: int, high: int) -> torch.Tensor:
    ratio = x / step
    return g * ((ratio >= low) & (ratio <= high))


@lsq.grad("step", surrogate=True)
def _(g: torch.Tensor, x: torch.Tensor, step: torch.Tensor, low: int, high: int) -> torch.Tensor:
    ratio = x / step
    inside = (ratio > low) & (ratio < high)
    share = step.numel() / (max(x.numel(), 1) * max(high, 1))
    return g * torch.where(inside, torch.round(ratio) - ratio, ratio.clamp(low, high)) * math.sqrt(share)


@entry(
    FAMILY,
    "round(min(max(x, 0), alpha) * levels / alpha) * alpha / levels",
    like="min(max(x, 0), alpha)",
    parameters={"alpha": Parameter(6.0, above=0.0)},
    source="Choi et al. 2018, arXiv:1805.06085",
    module="PACTQuantizer",
    unfused="it computes with a whole number of levels, which kernels take for a size",
    kinks={0.0: (0.0, 0.0)},
)
@function
def pact_quantize(x: torch.Tensor, alpha: torch.Tensor, levels: int = 255) -> torch.Tensor:
    """x clipped to [0, α] with a learned bound, and rounded to one of ``levels`` steps; the gradients are pact's.

    Example:
        >>> pact_quantize(torch.tensor([-1.0, 2.2, 9.0]), torch.tensor(6.0), levels=3)
        tensor([0., 2., 6.])
    """
    positive("pact_quantize", "levels", levels)
    above = x >= alpha
    inside = (x > 0) & ~above
    clipped = torch.where(above, alpha, torch.where(inside, x, 0.0))
    return keep((torch.round(clipped / alpha * levels) / levels * alpha).to(x.dtype), inside=inside, above=above)


@pact_quantize.grad("x", surrogate=True)
def _(g: torch.Tensor, inside: torch.Tensor) -> torch.Tensor:
    return g * inside


@pact_quantize.grad("alpha", surrogate=True)
def _(g: torch.Tensor, above: torch.Tensor) -> torch.Tensor:
    return g * above
