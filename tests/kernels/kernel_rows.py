"""One table of formulas that run as kernels: each row a formula and the shapes of its arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Row:
    """A formula, the shapes of its tensors, and the dtypes it is tried in beside float32."""

    name: str
    formula: Callable[..., Any]
    shapes: tuple[Shape, ...]
    also: tuple[torch.dtype, ...] = ()


def snake(x, a):
    return x + torch.sin(a * x) ** 2 / a


def mish(x):
    return x * torch.tanh(F.softplus(x))


def gate(a, b):
    return F.silu(a) * b


def scaled(x, beta):
    return x * torch.sigmoid(F.softplus(beta) * x)


def clipped(x, low, high):
    return torch.clamp(x, low, high)


def bent(x):
    return torch.where(x > 0, torch.sqrt(x * x + 1), x / (1 + torch.abs(x)))


def powers(x, p):
    return torch.exp(-(x**2)) * torch.abs(x) ** p + torch.log1p(torch.abs(x))


def curved(x, y):
    return torch.atan2(y, x) + torch.erf(x) * torch.expm1(-torch.abs(y))


def led(x, y):
    return torch.lerp(F.logsigmoid(x), F.celu(y, 1.3), torch.atanh(torch.tanh(x)))


def masked(x, mask, count):
    return torch.where(mask, x * count, -x)


ROWS = [
    Row("mish", mish, ((37, 41),), (torch.float64, torch.bfloat16)),
    Row("snake", snake, ((3, 5, 70), (5, 1))),
    Row("gate", gate, ((700,), (700,)), (torch.float16,)),
    Row("scaled", scaled, ((64, 33), (33,))),
    Row("clipped", clipped, ((2000,), (), ())),
    Row("bent", bent, ((40, 50),)),
    Row("powers", powers, ((20, 1), (1, 30))),
    Row("led", led, ((60,), (60,))),
    Row("curved", curved, ((50, 21), (50, 21))),
]
