"""PyTorch's operations along dimensions, on arrays of mpmath numbers, by their definitions."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import exact
import mpmath as mp
import numpy as np


class Numbers(np.ndarray):
    """An array of mpmath numbers with the methods that formulas call."""

    def sum(self, dim: Any = None, keepdim: bool = False) -> Numbers:  # type: ignore[override]
        return numbers(np.sum(np.asarray(self), axis=dim, keepdims=keepdim))

    def mean(self, dim: Any = None, keepdim: bool = False) -> Numbers:  # type: ignore[override]
        total = self.sum(dim, keepdim)
        return total * (mp.mpf(total.size) / self.size)

    def norm(self, p: Any = 2, dim: Any = None, keepdim: bool = False) -> Numbers:
        return numbers((each(abs)(self) ** p).sum(dim, keepdim)) ** (mp.mpf(1) / p)

    def var(self, dim: Any = None, unbiased: bool = True, keepdim: bool = False) -> Numbers:  # type: ignore[override]
        squares = ((self - self.mean(dim, True)) ** 2).sum(dim, keepdim)
        rows = self.size // squares.size
        return squares / (rows - unbiased)

    def std(self, dim: Any = None, keepdim: bool = False) -> Numbers:  # type: ignore[override]
        return each(mp.sqrt)(self.var(dim, keepdim=keepdim))


def numbers(values: Any) -> Numbers:
    """Anything as an array."""
    return np.asarray(values, dtype=object).view(Numbers)


def each(function: Callable[..., Any]) -> Callable[..., Numbers]:
    """A function of numbers, element by element."""
    vectorized = np.frompyfunc(function, 1, 1)
    return lambda x: numbers(vectorized(np.asarray(x)))


def logsumexp(x: Numbers, dim: Any, keepdim: bool = False) -> Numbers:
    return each(mp.log)(each(mp.exp)(x).sum(dim, keepdim))


def softmax(x: Numbers, dim: Any) -> Numbers:
    return each(mp.exp)(x - logsumexp(x, dim, True))


functional = SimpleNamespace(
    mse_loss=lambda x, y: ((x - y) ** 2).mean(),
    normalize=lambda x, dim: x / x.norm(2, dim, True),
)
torch = SimpleNamespace(
    **{name: each(getattr(exact.torch, name)) for name in ("exp", "log", "sqrt", "tanh", "sigmoid")},
    rsqrt=each(lambda x: 1 / mp.sqrt(x)),
    sum=lambda x, dim=None: x.sum(dim),
    mean=lambda x, dim=None, keepdim=False: x.mean(dim, keepdim),
    norm=lambda x, dim=None: x.norm(2, dim),
    var=lambda x, dim=None: x.var(dim),
    softmax=softmax,
    log_softmax=lambda x, dim: x - logsumexp(x, dim, True),
    logsumexp=logsumexp,
    amax=lambda x, dim: numbers(np.max(np.asarray(x), axis=dim)),
    amin=lambda x, dim: numbers(np.min(np.asarray(x), axis=dim)),
    linalg=SimpleNamespace(vector_norm=lambda x, p=2, dim=None, keepdim=False: x.norm(p, dim, keepdim)),
    nn=SimpleNamespace(functional=functional),
)
