"""The table of formulas that every suite of this directory iterates over: name, text, and where its arguments live."""

from __future__ import annotations

from typing import NamedTuple

import torch

ANY, POSITIVE, UNIT, ABOVE_ONE, INSIDE = (-3.0, 3.0), (0.2, 3.0), (0.05, 0.95), (1.2, 4.0), (-0.9, 0.9)


class Case(NamedTuple):
    """One formula.

    Args:
        text: As a user would write it.
        domains: The interval of each argument that does not take any number between -3 and 3.
        numbers: Arguments that are Python numbers.
        torch_accuracy: The dtype whose accuracy PyTorch's own float64 gradient has, where it rounds constants.
    """

    text: str
    domains: dict[str, tuple[float, float]] = {}  # noqa: RUF012 - never changed
    numbers: tuple[str, ...] = ()
    torch_accuracy: torch.dtype | None = None


F = "torch.nn.functional."
CASES = {
    # activations
    "swish": Case("x * torch.sigmoid(b * x)"),
    "silu": Case(f"{F}silu(x)"),
    "gelu": Case(f"{F}gelu(x)"),
    "gelu_written": Case("0.5 * x * (1 + torch.erf(x / math.sqrt(2)))"),
    "gelu_tanh": Case(f"{F}gelu(x, approximate='tanh')"),
    "quick_gelu": Case("x * torch.sigmoid(1.702 * x)"),
    "mish": Case(f"{F}mish(x)"),
    "mish_written": Case("x * torch.tanh(torch.log(1 + torch.exp(x)))"),
    "softplus_beta": Case("torch.log(1 + torch.exp(beta * x)) / beta", {"beta": POSITIVE}),
    "softplus_call": Case(f"{F}softplus(x, beta=2.0)"),
    "logistic_written": Case("1 / (1 + torch.exp(-k * (x - c)))"),
    "tanh_written": Case("(torch.exp(x) - torch.exp(-x)) / (torch.exp(x) + torch.exp(-x))"),
    "elu": Case("torch.where(x > 0, x, alpha * (torch.exp(x) - 1))"),
    "elu_call": Case(f"{F}elu(x, 0.7)"),
    "selu": Case("torch.selu(x)"),
    "celu": Case("torch.celu(x, 1.3)", torch_accuracy=torch.float32),
    "leaky": Case("torch.where(x > 0, x, slope * x)"),
    "relu6": Case(f"{F}relu6(3 * x)"),
    "hardswish": Case(f"{F}hardswish(2 * x)"),
    "hardsigmoid": Case("torch.clamp(x / 6 + 0.5, 0, 1) * y"),
    "squared_relu": Case("torch.relu(x) ** 2"),
    "softsign": Case("x / (1 + torch.abs(x))"),
    "tanhshrink": Case("x - torch.tanh(x)"),
    "softshrink": Case(f"{F}softshrink(x, 0.3)"),
    "snake": Case("x + torch.sin(a * x) ** 2 / a", {"a": POSITIVE}),
    "serf": Case(f"x * torch.erf({F}softplus(x))"),
    "bent_identity": Case("(torch.sqrt(x ** 2 + 1) - 1) / 2 + x"),
    "squareplus": Case("(x + torch.sqrt(x ** 2 + b)) / 2", {"b": POSITIVE}),
    "smu": Case("((1 + a) * x + (1 - a) * x * torch.erf(mu * (1 - a) * x)) / 2"),
    "isru": Case("x / torch.sqrt(1 + a * x ** 2)", {"a": POSITIVE}),
    "learned_clamp": Case("torch.clamp(x, low, high)", {"low": (-2, -1), "high": (1, 2)}),
    "gated": Case("torch.tanh(a) * torch.sigmoid(b)"),
    "aria": Case("x * (1 + torch.exp(-b * x)) ** (-a)", {"a": POSITIVE}),
    "dead_sqrt": Case("torch.where(x > 0, torch.sqrt(x), x)", {"x": POSITIVE}),
    # losses
    "squared_error": Case("(x - y) ** 2 / 2"),
    "log_cosh": Case("torch.log(torch.cosh(x - y))"),
    "huber": Case(
        "d = torch.abs(x - y); torch.where(d < delta, 0.5 * d ** 2, delta * (d - 0.5 * delta))", {}, ("delta",)
    ),
    "pseudo_huber": Case("delta ** 2 * (torch.sqrt(1 + ((x - y) / delta) ** 2) - 1)", {"delta": POSITIVE}),
    "charbonnier": Case("torch.sqrt((x - y) ** 2 + eps ** 2)", {}, ("eps",)),
    "quantile": Case("torch.where(y > x, q * (y - x), (q - 1) * (y - x))", {"q": UNIT}),
    "bce_logits": Case(f"{F}softplus(x) - x * t", {"t": UNIT}),
    "bce_written": Case("-(t * torch.log(p) + (1 - t) * torch.log(1 - p))", {"p": UNIT, "t": UNIT}),
    "focal": Case("p = torch.sigmoid(x); -(1 - p) ** 2 * torch.log(p)"),
    "hinge": Case("torch.relu(1 - x * y)"),
    "poisson": Case("torch.exp(x) - y * x"),
    "cauchy": Case("torch.log1p((x / c) ** 2)", {"c": POSITIVE}),
    "geman": Case("x ** 2 / (x ** 2 + s ** 2)", {"s": POSITIVE}),
    "welsch": Case("1 - torch.exp(-0.5 * (x / s) ** 2)", {"s": POSITIVE}),
    "barron": Case("(((x ** 2) / abs(a - 2) + 1) ** (a / 2) - 1) * abs(a - 2) / a", {"a": (0.3, 1.5)}),
    # physics
    "lennard_jones": Case(
        "4 * eps * ((s / r) ** 12 - (s / r) ** 6)", {"r": (0.8, 2.0), "s": (0.8, 1.2), "eps": POSITIVE}
    ),
    "morse": Case(
        "d * (1 - torch.exp(-a * (r - r0))) ** 2", {"d": POSITIVE, "r": POSITIVE, "r0": POSITIVE, "a": POSITIVE}
    ),
    "buckingham": Case("a * torch.exp(-b * r) - c / r ** 6", {"r": ABOVE_ONE}),
    "yukawa": Case("-(g ** 2) * torch.exp(-m * r) / r", {"r": POSITIVE}),
    "coulomb": Case("q1 * q2 / torch.sqrt(x ** 2 + y ** 2 + z ** 2)"),
    "planck": Case("nu ** 3 / (torch.exp(nu / t) - 1)", {"nu": POSITIVE, "t": POSITIVE}),
    "fermi_dirac": Case("1 / (torch.exp((e - mu) / kt) + 1)", {"kt": POSITIVE}),
    "langevin": Case("1 / torch.tanh(x) - 1 / x", {"x": POSITIVE}),
    "pendulum": Case("0.5 * w ** 2 - k * torch.cos(q)"),
    "double_well": Case("a * (x ** 2 - b ** 2) ** 2"),
    "relativistic": Case("m / torch.sqrt(1 - v ** 2)", {"v": INSIDE}),
    "arrhenius": Case("a * torch.exp(-e / (8.314 * t))", {"t": ABOVE_ONE}),
    "michaelis": Case("vmax * s ** n / (k ** n + s ** n)", {"s": POSITIVE, "k": POSITIVE, "n": POSITIVE}),
    # geometry
    "norm2": Case("torch.sqrt(x ** 2 + y ** 2)"),
    "hypot": Case("torch.hypot(x, y)"),
    "angle": Case("torch.atan2(y, x)"),
    "haversine": Case(
        "h = torch.sin((p2 - p1) / 2) ** 2 + torch.cos(p1) * torch.cos(p2) * torch.sin((l2 - l1) / 2) ** 2\n"
        "2 * torch.asin(torch.sqrt(h))",
        {"p1": (-1, -0.2), "p2": (0.2, 1), "l1": (-1, -0.2), "l2": (0.2, 1)},
    ),
    "sphere_cap": Case("math.pi * h ** 2 * (3 * r - h) / 3"),
    "signed_distance": Case("torch.sqrt(x ** 2 + y ** 2) - r"),
    "smooth_min": Case("-torch.logaddexp(-k * a, -k * b) / k", {"k": POSITIVE}),
    "poincare": Case("torch.acosh(1 + 2 * d / ((1 - u) * (1 - v)))", {"d": POSITIVE, "u": UNIT, "v": UNIT}),
    # statistics
    "normal_logpdf": Case(
        "-0.5 * ((x - mu) / sigma) ** 2 - torch.log(sigma) - 0.5 * math.log(2 * math.pi)", {"sigma": POSITIVE}
    ),
    "normal_pdf": Case("torch.exp(-0.5 * ((x - mu) / s) ** 2) / (s * math.sqrt(2 * math.pi))", {"s": POSITIVE}),
    "normal_cdf": Case("0.5 * torch.erfc(-(x - mu) / (s * math.sqrt(2)))", {"s": POSITIVE}),
    "log_cdf": Case("torch.log(0.5 * torch.erfc(-x / math.sqrt(2)))"),
    "gumbel": Case("-(z + torch.exp(-z)) - torch.log(b)", {"b": POSITIVE}),
    "student": Case(
        "torch.lgamma((n + 1) / 2) - torch.lgamma(n / 2) - 0.5 * torch.log(n * math.pi)"
        " - (n + 1) / 2 * torch.log1p(x ** 2 / n)",
        {"n": POSITIVE},
    ),
    "beta_logpdf": Case(
        "torch.xlogy(a - 1, x) + torch.special.xlog1py(b - 1, -x)"
        " - torch.lgamma(a) - torch.lgamma(b) + torch.lgamma(a + b)",
        {"x": UNIT, "a": POSITIVE, "b": POSITIVE},
    ),
    "entropy": Case("-p * torch.log(p) - (1 - p) * torch.log(1 - p)", {"p": UNIT}),
    "kl_normal": Case(
        "torch.log(s2 / s1) + (s1 ** 2 + (m1 - m2) ** 2) / (2 * s2 ** 2) - 0.5", {"s1": POSITIVE, "s2": POSITIVE}
    ),
    "kumaraswamy": Case("a * b * x ** (a - 1) * (1 - x ** a) ** (b - 1)", {"x": UNIT, "a": POSITIVE, "b": POSITIVE}),
    "mixture": Case("torch.logaddexp(torch.log(w) - x ** 2 / 2, torch.log(1 - w) - (x - m) ** 2 / 2)", {"w": UNIT}),
    "power": Case("x ** p", {"x": POSITIVE}),
    "logit": Case("torch.logit(p) * t", {"p": UNIT}),
    "box_cox": Case("(x ** lam - 1) / lam", {"x": POSITIVE, "lam": POSITIVE}),
    "log_ratio": Case("torch.log2(x) / torch.log10(y)", {"x": POSITIVE, "y": ABOVE_ONE}),
    "bessel": Case("torch.special.i0(x) * torch.special.i1e(y)"),
    "ndtri": Case("torch.special.ndtri(p) + torch.erfinv(q)", {"p": UNIT, "q": INSIDE}),
    "masked": Case("torch.where((x > 0) & (y < 1), x * y, torch.where(x < -1, y, x ** 2))"),
    "extremes": Case("torch.maximum(x, y) * torch.minimum(x, z)"),
    "statements": Case("u = x - y\nv = u * torch.exp(-u ** 2)\nw = v + u\nw * torch.sin(w)"),
}
