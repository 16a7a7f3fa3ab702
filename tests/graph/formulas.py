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
        shapes: The shape of each argument that does not take the shape of its place.
        kinds: The arguments that are ``complex``, an ``index``, or a ``mask``.
        domain: What is said about the arguments, as ``pullback derive --complex`` says it.
        once: Whether PyTorch has no second derivative of it.
    """

    text: str
    domains: dict[str, tuple[float, float]] = {}  # noqa: RUF012 - never changed
    numbers: tuple[str, ...] = ()
    torch_accuracy: torch.dtype | None = None
    shapes: dict[str, tuple[int, ...]] = {}  # noqa: RUF012 - never changed
    kinds: dict[str, str] = {}  # noqa: RUF012 - never changed
    domain: str = "any"
    once: bool = False


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
    "long_names": Case(
        "torch.tanh(first_input * second_input + third_input * fourth_input) * fifth_input"
        " - sixth_input * torch.exp(-seventh_input)"
    ),
    "intersection": Case(
        "w = torch.relu(torch.minimum(b, d) - torch.maximum(a, c))\n"
        "w * torch.abs((p * torch.cos(q) - r * torch.cos(s)) / (1 + (p * torch.cos(q) + r * torch.cos(s)) ** 2)) ** 2"
    ),
    "statements": Case("u = x - y\nv = u * torch.exp(-u ** 2)\nw = v + u\nw * torch.sin(w)"),
}

ALONG = {
    "total": Case("x.sum()"),
    "sum_dim": Case("torch.sum(x * y, dim=-1)"),
    "mean": Case("torch.mean(x, dim=0, keepdim=True)"),
    "mean_squared_error": Case("((x - y) ** 2).mean()"),
    "mse_loss": Case(f"{F}mse_loss(x, 2 * x * x)"),
    "centered": Case("x - x.mean(-1, keepdim=True)"),
    "softmax": Case("torch.softmax(x, -1)"),
    "softmax_written": Case("torch.exp(x) / torch.exp(x).sum(-1, keepdim=True)"),
    "softmax_temperature": Case("w * torch.softmax(x / t, dim=-1)", {"t": POSITIVE}),
    "log_softmax": Case("w * torch.log_softmax(x, 0)"),
    "logsumexp": Case("torch.logsumexp(x, dim=-1)"),
    "logsumexp_written": Case("torch.log(torch.exp(b * x).sum(-1))"),
    "unit_vector": Case("x / torch.linalg.vector_norm(x, dim=-1, keepdim=True)"),
    "normalize": Case(f"{F}normalize(x, dim=-1) * y"),
    "norm": Case("x.norm()"),
    "norm_dim": Case("torch.norm(x - y, dim=-1)"),
    "one_norm": Case("torch.linalg.vector_norm(x, 1, dim=-1)"),
    "variance": Case("torch.var(x, dim=-1)"),
    "deviation": Case("x.std(dim=0, keepdim=True) * y"),
    "layer_norm": Case(
        "w * (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, unbiased=False, keepdim=True) + 0.1) + b"
    ),
    "rms_norm": Case("w * x * torch.rsqrt(torch.mean(x * x, dim=-1, keepdim=True) + eps)", {}, ("eps",)),
    "cosine": Case("(x * y).sum(-1) / (x.norm(dim=-1) * y.norm(dim=-1))"),
    "extremes": Case("torch.amax(x, -1) - torch.amin(x, -1)"),
    "soft_cross_entropy": Case("-(torch.softmax(t, -1) * torch.log_softmax(x, -1)).sum(-1).mean()"),
    "nested": Case("torch.exp(-((x - x.mean()) ** 2).sum(-1, keepdim=True)) * y"),
    "entropy": Case("-(torch.softmax(x, -1) * torch.log(torch.softmax(x, -1))).sum(-1)"),
    "attention_gate": Case("torch.sigmoid((q * k).sum(-1, keepdim=True) / s) * v", {"s": POSITIVE}),
}
"""Formulas with operations along dimensions."""


def _shaped(text: str, domains: dict[str, tuple[float, float]] | None = None, **shapes: tuple[int, ...]) -> Case:
    return Case(text, domains or {}, shapes=shapes)


STRUCTURED = {
    "linear": _shaped("x @ w + b", x=(2, 4, 3), w=(3, 5), b=(5,)),
    "linear_call": _shaped("torch.tanh(F.linear(x, w, b))", x=(2, 4, 3), w=(5, 3), b=(5,)),
    "two_layers": _shaped("torch.relu(x @ w.T) @ u.T", x=(4, 3), w=(5, 3), u=(2, 5)),
    "gate": _shaped("(h @ w) * h", h=(4, 3), w=(3, 1)),
    "attention": _shaped(
        "torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=-1) @ v",
        q=(2, 4, 3),
        k=(2, 4, 3),
        v=(2, 4, 3),
    ),
    "regression": _shaped("((X @ w - y) ** 2).mean()", X=(4, 3), w=(3,), y=(4,)),
    "quadratic_form": _shaped("0.5 * x @ A @ x", x=(4,), A=(4, 4)),
    "energy": _shaped("0.5 * x @ (A @ x) - torch.dot(b, x)", x=(4,), A=(4, 4), b=(4,)),
    "bilinear": _shaped("torch.mv(m, v).sum() * torch.outer(u, v)", m=(4, 3), v=(3,), u=(4,)),
    "contracted": _shaped("torch.einsum('bij,bjk->bik', a, b)", a=(2, 3, 4), b=(2, 4, 3)),
    "summed_index": _shaped("torch.einsum('ij,jk->i', a, b)", a=(3, 4), b=(4, 2)),
    "batched": _shaped("torch.baddbmm(c, a, b, alpha=0.5)", c=(2, 3, 3), a=(2, 3, 4), b=(2, 4, 3)),
    "area": _shaped("torch.linalg.cross(a, b).norm(dim=-1) / 2", a=(4, 3), b=(1, 3)),
    "columns": _shaped("x[..., 0] ** 2 + torch.sin(x[:, 1])", x=(4, 3)),
    "differences": _shaped("(x[:, 1:] - x[:, :-1]) ** 2 + torch.diff(x)", x=(4, 3)),
    "pairwise": _shaped("x[:, None] * y[None, :]", x=(4,), y=(3,)),
    "every_second": _shaped("x[::2, -1].exp()", x=(4, 3)),
    "stacked": _shaped("torch.stack([r * torch.cos(t), r * torch.sin(t)], dim=-1)", r=(4,), t=(4,)),
    "joined": _shaped("torch.cat([x, y ** 2], dim=-1)", x=(4, 3), y=(4, 2)),
    "moved": _shaped("x.permute(2, 0, 1) * y", x=(2, 3, 4), y=(3,)),
    "flattened": _shaped("x.flatten() * y", x=(4, 3), y=(12,)),
    "reshaped": _shaped("x.reshape(-1, 2).sum(0) * y.unsqueeze(-1).squeeze()", x=(4, 3), y=(2,)),
    "rolled": _shaped("torch.roll(x, 1, -1) * x + torch.flip(x, [0])", x=(4, 3)),
    "triangle": _shaped("torch.tril(x) @ y.expand(3, 3)", x=(3, 3), y=(3,)),
    "cumulated": _shaped("torch.exp(-torch.cumsum(x ** 2, dim=-1)) * y", x=(4, 3), y=(3,)),
    "product": _shaped("torch.prod(x, dim=-1) + y.prod()", x=(4, 3), y=(3,)),
    "largest": _shaped("x - x.max(dim=-1, keepdim=True).values + x.min()", x=(4, 3)),
    "rectified": _shaped("torch.max(x, torch.zeros_like(x))", x=(4, 3)),
    "trace": _shaped("torch.trace(x @ x.T)", x=(4, 3)),
    "log_volume": _shaped("torch.logdet(m @ m.T) + torch.linalg.det(m)", m=(3, 3)),
    "solved": _shaped("torch.linalg.solve(m @ m.T, y) - torch.inverse(m) @ y", m=(3, 3), y=(3, 2)),
    "p_norm": _shaped("torch.sum(torch.abs(x - y) ** p) ** (1 / p)", {"p": (1.5, 3.0)}, x=(4,), y=(4,), p=()),
    "three_norm": _shaped("x.norm(p=3, dim=-1) + torch.linalg.norm(x, ord=1, dim=-1)", x=(4, 3)),
    "likeness": _shaped("F.cosine_similarity(x, y, dim=-1)", x=(4, 3), y=(3,)),
    "distance": _shaped("F.pairwise_distance(x, y) + torch.dist(x, y)", x=(4, 3), y=(4, 3)),
    "layer_norm_call": _shaped("F.layer_norm(x, (3,), w, b)", x=(4, 3), w=(3,), b=(3,)),
    "rms_norm_call": _shaped("F.rms_norm(x, (3,), w, eps=1e-6)", x=(4, 3), w=(3,)),
    "entropy_of_bits": Case("F.binary_cross_entropy(p, t)", {"p": UNIT, "t": UNIT}, shapes={"t": (3, 4)}),
    "entropy_of_logits": _shaped(
        "F.binary_cross_entropy_with_logits(x, t, reduction='none')", {"t": UNIT}, x=(4,), t=(4,)
    ),
    "huber_call": _shaped("u = F.huber_loss(x, y, delta=0.5)\nu + F.smooth_l1_loss(x, z)", x=(4,), y=(4,), z=(4,)),
    "divergence": _shaped("F.kl_div(x, t, reduction='batchmean')", {"t": UNIT}, t=(3, 4)),
    "counts": _shaped("u = F.poisson_nll_loss(x, y)\nu + F.margin_ranking_loss(x, z, y)", x=(4,), y=(4,), z=(4,)),
    "heteroscedastic": _shaped("F.gaussian_nll_loss(x, y, v)", {"v": POSITIVE}, x=(4,), y=(4,), v=(4,)),
    "softmin": _shaped("F.softmin(x, dim=-1) * w", x=(4, 3), w=(3,)),
    "dead_sum": _shaped("torch.where(x > 0, torch.log(x).cumsum(0), y)", {"x": POSITIVE}, x=(4,), y=(4,)),
    "mean_of_sums": _shaped("x.sum(-1).mean()", x=(4, 3)),
}
"""Formulas that move, select, scan and contract."""
