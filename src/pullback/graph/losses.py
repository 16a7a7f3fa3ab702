"""Losses, distances and normalisations by PyTorch's names, in terms of the other tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp

from pullback.graph import functions as f
from pullback.graph.functions import Term
from pullback.graph.reductions import REDUCTIONS, Softmax, count

_EPSILON, _SMALL, _TINY = (sp.Rational(1, 10**digits) for digits in (5, 6, 8))
_mean, _sum, _norm = (REDUCTIONS[name][1] for name in ("mean", "sum", "norm"))


def _reduced(pointwise: Callable[..., Term]) -> Callable[..., Term]:
    """A loss from its value at one element."""

    def build(x: Term, target: Term, *more: Any, reduction: str = "mean", **options: Any) -> Term:
        each = pointwise(x, target, *more, **options)
        kinds: dict[str, Callable[[Term], Term]] = {
            "mean": _mean,
            "sum": _sum,
            "none": lambda u: u,
            "batchmean": lambda u: _sum(u) / count(u, sp.Tuple(0)),
        }
        return kinds[reduction](each)

    return build


def _smooth_l1(x: Term, y: Term, beta: Term = 1) -> Term:
    d = f.absolute(x - y)
    return f.where(sp.Lt(d, beta), d**2 / (2 * beta), d - beta / 2)


def _huber(x: Term, y: Term, delta: Term = 1) -> Term:
    d = f.absolute(x - y)
    return f.where(sp.Le(d, delta), d**2 / 2, delta * (d - delta / 2))


def _divergence(x: Term, y: Term, log_target: bool = False) -> Term:
    return sp.exp(y) * (y - x) if log_target else f.xlogy(y, y) - y * x


def _poisson(x: Term, y: Term, log_input: bool = True, full: bool = False, eps: Term = _TINY) -> Term:
    if full:
        raise TypeError("full must be False")
    return sp.exp(x) - y * x if log_input else x - y * sp.log(x + eps)


def _gaussian(x: Term, y: Term, var: Term, full: bool = False, eps: Term = _SMALL) -> Term:
    kept = f.clamp(var, eps, sp.oo)
    return (sp.log(kept) + (x - y) ** 2 / kept) / 2 + (sp.log(2 * sp.pi) / 2 if full else 0)


def _ranking(a: Term, b: Term, y: Term, margin: Term = 0) -> Term:
    return f.clamp(margin - y * (a - b), 0, sp.oo)


def _cosine(x: Term, y: Term, dim: Any = 1, eps: Term = _TINY) -> Term:
    lengths = (f.clamp(_norm(u, 2, dim), eps, sp.oo) for u in (x, y))
    return _sum(x * y, dim) / sp.Mul(*lengths)


def _distance(x: Term, y: Term, p: Any = 2, eps: Term = _SMALL, keepdim: bool = False) -> Term:
    return _norm(x - y + eps, p, -1, keepdim)


def _last(shape: Any) -> tuple[int, ...]:
    return tuple(range(-(len(shape) if isinstance(shape, tuple) else 1), 0))


def _layer_norm(x: Term, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: Term = _EPSILON) -> Term:
    dims = _last(normalized_shape)
    centered = x - _mean(x, dims, True)
    unit = centered / sp.sqrt(_mean(centered**2, dims, True) + eps)
    return (1 if weight is None else weight) * unit + (0 if bias is None else bias)


def _rms_norm(x: Term, normalized_shape: Any, weight: Any = None, eps: Any = None) -> Term:
    if eps is None:
        raise TypeError("eps must be given: its default depends on the dtype")
    return (1 if weight is None else weight) * x / sp.sqrt(_mean(x**2, _last(normalized_shape), True) + eps)


_FORMS: dict[str, Callable[..., Term]] = {
    "binary_cross_entropy": _reduced(lambda p, t: -t * sp.log(p) - (1 - t) * sp.log(1 - p)),
    "binary_cross_entropy_with_logits": _reduced(lambda x, t: (1 - t) * x + f.softplus(-x)),
    "smooth_l1_loss": _reduced(_smooth_l1),
    "huber_loss": _reduced(_huber),
    "kl_div": _reduced(_divergence),
    "soft_margin_loss": _reduced(lambda x, y: f.softplus(-x * y)),
    "poisson_nll_loss": _reduced(_poisson),
    "gaussian_nll_loss": _reduced(_gaussian),
    "margin_ranking_loss": _reduced(_ranking),
    "softmin": lambda x, dim: Softmax(-x, sp.Tuple(dim), sp.S.One),
    "cosine_similarity": _cosine,
    "pairwise_distance": _distance,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
}
LOSSES = {name: ("torch.nn.functional." + name, form) for name, form in _FORMS.items()}
"""How formulas call them, how that is spelled in full, and what it means."""
