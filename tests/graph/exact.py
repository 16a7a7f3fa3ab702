"""PyTorch's names in mpmath, so that a formula can be evaluated to any number of digits as it is written."""

from __future__ import annotations

from types import SimpleNamespace

import mpmath as mp


def _where(cond: bool, a: object, b: object) -> object:
    return a if cond else b


def _clamp(x: mp.mpf, low: mp.mpf, high: mp.mpf) -> mp.mpf:
    return min(max(x, low), high)


def _elu(x: mp.mpf, alpha: float = 1, scale: float = 1, inner: float = 1) -> mp.mpf:
    return scale * (x if x > 0 else mp.mpf(alpha) * mp.expm1(x * inner))


def _hardsigmoid(x: mp.mpf) -> mp.mpf:
    return _clamp(x / 6 + mp.mpf(1) / 2, 0, 1)


def _softshrink(x: mp.mpf, lambd: float) -> mp.mpf:
    return x - lambd if x > lambd else x + lambd if x < -lambd else mp.mpf(0)


def _gelu(x: mp.mpf, approximate: str = "none") -> mp.mpf:
    if approximate == "none":
        return x * mp.erfc(-x / mp.sqrt(2)) / 2
    return x * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3))) / 2


def _softplus(x: mp.mpf, beta: float = 1) -> mp.mpf:
    return mp.log1p(mp.exp(beta * x)) / beta


functional = SimpleNamespace(
    silu=lambda x: x / (1 + mp.exp(-x)),
    gelu=_gelu,
    mish=lambda x: x * mp.tanh(_softplus(x)),
    softplus=_softplus,
    elu=_elu,
    relu6=lambda x: _clamp(x, 0, 6),
    hardswish=lambda x: x * _hardsigmoid(x),
    hardsigmoid=_hardsigmoid,
    softshrink=_softshrink,
)
special = SimpleNamespace(
    xlog1py=lambda x, y: x * mp.log1p(y),
    i0=lambda x: mp.besseli(0, x),
    i1e=lambda x: mp.exp(-abs(x)) * mp.besseli(1, x),
    ndtri=lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1),
)
torch = SimpleNamespace(
    sigmoid=lambda x: 1 / (1 + mp.exp(-x)),
    tanh=mp.tanh,
    exp=mp.exp,
    log=mp.log,
    log1p=mp.log1p,
    sqrt=mp.sqrt,
    sin=mp.sin,
    cos=mp.cos,
    cosh=mp.cosh,
    asin=mp.asin,
    acosh=mp.acosh,
    erf=mp.erf,
    erfc=mp.erfc,
    erfinv=mp.erfinv,
    abs=abs,
    where=_where,
    clamp=_clamp,
    maximum=max,
    minimum=min,
    relu=lambda x: max(x, mp.mpf(0)),
    hypot=mp.hypot,
    atan2=mp.atan2,
    lgamma=mp.loggamma,
    xlogy=lambda x, y: x * mp.log(y),
    logit=lambda p: mp.log(p / (1 - p)),
    log2=lambda x: mp.log(x, 2),
    log10=mp.log10,
    logaddexp=lambda a, b: mp.log(mp.exp(a) + mp.exp(b)),
    special=special,
    nn=SimpleNamespace(functional=functional),
    selu=lambda x: _elu(x, 1.6732632423543772, 1.0507009873554805),
    celu=lambda x, a: _elu(x, mp.mpf(str(a)), 1, 1 / mp.mpf(str(a))),
)
math = SimpleNamespace(pi=mp.pi, sqrt=mp.sqrt, log=mp.log)
