"""Published NaN-gradient reports: finite wherever the true derivative is, with the author's formula unchanged."""

from __future__ import annotations

import math

import pytest
import torch

from pullback.graph.parse import parse
from pullback.graph.source import autograd_source

INF = math.inf
REPORTS = {
    # formula, arguments, the true gradient of each
    "pytorch #23395, where and sqrt": (
        "torch.where(x == 0, x / 2, x.sqrt() + 1)",
        {"x": [16.0, 0.0]},
        {"x": [0.125, 0.5]},
    ),
    "pytorch #36923, zero by zero": ("torch.where(x >= t, x, t * (x / t))", {"x": [1.0], "t": 0.0}, {"x": [1.0]}),
    "pytorch #52248, division by zero": (
        "torch.where(b, a / 0, c)",
        {"b": [False], "a": [0.3], "c": [1.0]},
        {"a": [0.0]},
    ),
    "pytorch #68425, exp overflows": (
        "torch.where(a <= 0, torch.exp(a), 1 + a)",
        {"a": [100.0, -1.0]},
        {"a": [1.0, math.exp(-1)]},
    ),
    "pytorch #89543, log of zero": ("torch.where(x > 0, x * torch.log(x), 0)", {"x": [0.0, 1.0]}, {"x": [0.0, 1.0]}),
    "pytorch #108618, log2 of zero": (
        "torch.where(x > 2, torch.log2(x), 2 * x)",
        {"x": [0.0, 2.0, 4.0]},
        {"x": [2, 2, 0.25 / math.log(2)]},
    ),
    "pytorch #156212, exp and a limit": (
        "torch.where(x <= limit, torch.exp(x), 1)",
        {"x": [1.0, 1e10], "limit": 10.0},
        {"x": [math.e, 0.0]},
    ),
    "pytorch #187297, sqrt of negatives": (
        "torch.where(x > 0, torch.sqrt(x), x)",
        {"x": [-1.0, -4.0]},
        {"x": [1.0, 1.0]},
    ),
    "pytorch #18287, cos of infinity": ("torch.where(x < 1.0, torch.cos(x), 0)", {"x": [0.0, INF]}, {"x": [0.0, 0.0]}),
    "norm at zero": (
        "torch.sqrt(x ** 2 + y ** 2)",
        {"x": [0.0, 3.0], "y": [0.0, 4.0]},
        {"x": [0.0, 0.6], "y": [0.0, 0.8]},
    ),
    "root of a square at zero": ("torch.sqrt(x ** 2)", {"x": [0.0, -2.0]}, {"x": [0.0, -1.0]}),
    "hypot at zero": ("torch.hypot(x, y)", {"x": [0.0], "y": [0.0]}, {"x": [0.0], "y": [0.0]}),
    "angle at zero": ("torch.atan2(y, x)", {"y": [0.0], "x": [0.0]}, {"y": [0.0], "x": [0.0]}),
    "power of zero": ("x ** p", {"x": [0.0], "p": [2.0]}, {"x": [0.0], "p": [0.0]}),
    "zeroth power of zero": ("x ** p", {"x": [0.0], "p": [0.0]}, {"x": [0.0], "p": [0.0]}),
    "root of a clamp": ("torch.sqrt(torch.clamp(x, min=0))", {"x": [-1.0, 4.0]}, {"x": [0.0, 0.25]}),
    "root of relu": ("torch.sqrt(torch.relu(x))", {"x": [-1.0, 0.0, 4.0]}, {"x": [0.0, 0.0, 0.25]}),
    "log of a clamp": (
        "torch.log(torch.clamp(x, min=0.0)) * torch.where(x > 1, 1, 0)",
        {"x": [-1.0, 0.0, 2.0]},
        {"x": [0, 0, 0.5]},
    ),
    "acos of a clamp": ("torch.acos(torch.clamp(x, -1, 1))", {"x": [-2.0, 3.0, 0.0]}, {"x": [0.0, 0.0, -1.0]}),
    "logaddexp at -inf": (
        "torch.logaddexp(x, y)",
        {"x": [-INF, 0.0], "y": [-INF, -INF]},
        {"x": [0.5, 1.0], "y": [0.5, 0.0]},
    ),
    "softplus overflows": ("torch.log(1 + torch.exp(x))", {"x": [1000.0, -1000.0]}, {"x": [1.0, 0.0]}),
    "sigmoid overflows": ("1 / (1 + torch.exp(-x))", {"x": [1000.0, -1000.0]}, {"x": [0.0, 0.0]}),
    "silu overflows": ("x / (1 + torch.exp(-x))", {"x": [1000.0, -1000.0]}, {"x": [1.0, 0.0]}),
    "tanh overflows": (
        "(torch.exp(x) - torch.exp(-x)) / (torch.exp(x) + torch.exp(-x))",
        {"x": [1000.0]},
        {"x": [0.0]},
    ),
    "log cosh overflows": ("torch.log(torch.cosh(x))", {"x": [1000.0, -1000.0]}, {"x": [1.0, -1.0]}),
    "mish overflows": ("x * torch.tanh(torch.log(1 + torch.exp(x)))", {"x": [1000.0, -1000.0]}, {"x": [1.0, 0.0]}),
    "binary cross entropy": ("-torch.log(1 / (1 + torch.exp(-x)))", {"x": [1000.0, -1000.0]}, {"x": [0.0, -1.0]}),
    "log of a normal tail": (
        "torch.log(0.5 * torch.erfc(-x / math.sqrt(2)))",
        {"x": [-50.0, 50.0]},
        {"x": [50.0199840446, 0.0]},
    ),
    "two logits": (
        "torch.exp(a) / (torch.exp(a) + torch.exp(b))",
        {"a": [800.0], "b": [801.0]},
        {"a": [0.1966119332], "b": [-0.1966119332]},
    ),
    "gelu by tanh overflows": (
        "0.5 * x * (1 + torch.tanh(0.8 * (x + 0.04 * x ** 3)))",
        {"x": [1e200, -1e200]},
        {"x": [1.0, 0.0]},
    ),
    "swish slope overflows": (
        "x * torch.sigmoid(b * x)",
        {"x": [1e200, -1e200], "b": [1.0, 1.0]},
        {"x": [1.0, 0.0], "b": [0.0, 0.0]},
    ),
}


@pytest.mark.parametrize("name", REPORTS)
def test_finite_and_right(name: str) -> None:
    text, given, want = REPORTS[name]
    formula = parse(text, numbers=tuple(k for k, v in given.items() if isinstance(v, float)))
    space: dict[str, type[torch.autograd.Function]] = {}
    exec(autograd_source(formula), space)
    made = {
        k: v if isinstance(v, float) else torch.tensor(v, dtype=None if v[0] is False else torch.float64)
        for k, v in given.items()
    }
    tensors = [made[k].requires_grad_() for k in want]
    out = space["Formula"].apply(*(made[p.name] for p in formula.parameters))
    grads = torch.autograd.grad(out, tensors, torch.ones_like(out), create_graph=True)
    for grad, expected in zip(grads, want.values(), strict=True):
        torch.testing.assert_close(grad.detach(), torch.tensor(expected, dtype=torch.float64))


BOUNDED = (
    "x * torch.sigmoid(x)",
    "x / (1 + torch.exp(-x))",
    "torch.log(1 + torch.exp(x))",
    "x * torch.tanh(torch.log(1 + torch.exp(x)))",
    "torch.nn.functional.gelu(x)",
    "torch.nn.functional.gelu(x, approximate='tanh')",
    "x / (1 + torch.abs(x))",
    "torch.tanh(x)",
    "torch.log(torch.cosh(x))",
    "torch.where(x > 0, x, torch.exp(x) - 1)",
    "torch.exp(-x ** 2)",
    "x * torch.exp(-x ** 2 / 2)",
    "torch.erf(x)",
    "torch.atan(x)",
    "torch.sqrt(x ** 2)",
    "torch.asinh(x)",
    "torch.selu(x)",
    "torch.nn.functional.hardswish(x)",
    "1 / (1 + torch.exp(-1.702 * x))",
    "torch.where(x > 0, torch.sqrt(torch.abs(x) + 1), x)",
    "x - torch.tanh(x)",
    "torch.sin(x)",
)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("text", BOUNDED)
def test_finite_at_every_half_precision_number(text: str, dtype: torch.dtype) -> None:
    every = torch.arange(-(2**15), 2**15, dtype=torch.int16).view(dtype)
    x = every[every.isfinite()].requires_grad_()
    space: dict[str, type[torch.autograd.Function]] = {}
    exec(autograd_source(parse(text)), space)
    (grad,) = torch.autograd.grad(space["Formula"].apply(x).sum(), x)
    assert grad.isfinite().all(), x[~grad.isfinite()][:5]
    assert grad.dtype == dtype
