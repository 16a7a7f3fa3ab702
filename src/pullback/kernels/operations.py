"""What each pointwise ATen operation is in C.

A leaf is a C expression: its arguments are ``{0}``, ``{1}``, …, ``{t}`` is the suffix of its type and ``{c}`` the
type. Operations that PyTorch computes in several steps are written as those steps, so that each vector function gets
a loop of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pullback.kernels.compile import Unsupported

ARITHMETIC = {
    "multiply": "({0} * {1})",
    "divide": "({0} / {1})",
    "neg": "(-{0})",
    "reciprocal": "(({c})1 / {0})",
    "sqrt": "pb_sqrt_{t}({0})",
    "abs": "pb_abs_{t}({0})",
    "floor": "pb_floor_{t}({0})",
    "ceil": "pb_ceil_{t}({0})",
    "trunc": "pb_trunc_{t}({0})",
    "round": "pb_rint_{t}({0})",
    "sign": "pb_sign_{t}({0})",
    "maximum": "pb_max_{t}({0}, {1})",
    "minimum": "pb_min_{t}({0}, {1})",
    "fmax": "pb_fmax_{t}({0}, {1})",
    "fmin": "pb_fmin_{t}({0}, {1})",
    "copysign": "pb_copysign_{t}({0}, {1})",
    "plus": "({0} + {1})",
    "minus": "({0} - {1})",
    "fused": "FMA_{t}({0}, {1}, {2})",
    "at_least": "({0} < {1} ? {1} : {0})",
    "at_most": "({0} > {1} ? {1} : {0})",
}
"""Arguments and result are of one type. ``at_least`` and ``at_most`` keep a NaN in the first argument."""

COMPARISONS = {"gt": ">", "ge": ">=", "lt": "<", "le": "<=", "eq": "==", "ne": "!="}
LOGICAL = {
    "logical_and": "({0} & {1})",
    "bitwise_and": "({0} & {1})",
    "logical_or": "({0} | {1})",
    "bitwise_or": "({0} | {1})",
    "logical_xor": "({0} ^ {1})",
    "bitwise_xor": "({0} ^ {1})",
    "logical_not": "(!{0})",
    "bitwise_not": "(!{0})",
}
"""Of conditions; those named bitwise are for conditions only."""

HEAVY = {
    "exp": 1, "exp2": 1, "expm1": 1, "log": 1, "log1p": 1, "log2": 1, "log10": 1, "tanh": 1, "erf": 1, "erfc": 1,
    "sin": 1, "cos": 1, "tan": 1, "asin": 1, "acos": 1, "atan": 1, "atan2": 2, "sinh": 1, "cosh": 1, "asinh": 1,
    "acosh": 1, "atanh": 1, "powf": 2, "logistic": 2,
}  # fmt: skip
"""The vector functions of maths.h, with their number of arguments: one loop each."""

MENDED = {"sin", "cos", "tan"}
"""Right for moderate arguments only; results for others are computed again one by one."""

ALIKE = {"sin": "turn", "cos": "turn", "tan": "turn", "sinh": "hyperbolic", "cosh": "hyperbolic"}
"""Functions that have most of their work in common with others of the same first argument."""

SLOW = {("powf", "f64")}
"""Without vectors of our own: PyTorch's are faster."""

Steps = Callable[..., Any]
"""Takes the builder, whose attributes are operations, and the arguments."""

_HALF, _ROOT = 0.5, 1 / math.sqrt(2)


def _add(o: Any, x: Any, y: Any, alpha: Any = 1) -> Any:
    return o.plus(x, y if alpha == 1 else o.mul(y, alpha))


def _sub(o: Any, x: Any, y: Any, alpha: Any = 1) -> Any:
    return o.minus(x, y if alpha == 1 else o.mul(y, alpha))


def _mul(o: Any, x: Any, y: Any) -> Any:
    return x if y == 1 else y if x == 1 else o.multiply(x, y)


def _div(o: Any, x: Any, y: Any, rounding_mode: str | None = None) -> Any:
    if rounding_mode == "floor" and o.kind in ("f32", "f64"):
        raise Unsupported("PyTorch corrects a floor division by its remainder")
    whole = {None: lambda q: q, "floor": o.floor, "trunc": o.trunc}[rounding_mode]
    return whole(o.divide(x, y))


_POWERS: dict[Any, Steps] = {
    0: lambda o, x: o.ones_like(x),
    1: lambda o, x: x,
    2: lambda o, x: o.mul(x, x),
    3: lambda o, x: o.mul(o.mul(x, x), x),
    0.5: lambda o, x: o.sqrt(x),
    -0.5: lambda o, x: o.reciprocal(o.sqrt(x)),
    -1: lambda o, x: o.reciprocal(x),
    -2: lambda o, x: o.reciprocal(o.mul(x, x)),
}


def _pow(o: Any, x: Any, exponent: Any) -> Any:
    """PyTorch's own special cases, then the general power."""
    known = _POWERS.get(exponent) if isinstance(exponent, (int, float)) else None
    return known(o, x) if known else o.powf(x, exponent)


def _clamp(o: Any, x: Any, min: Any = None, max: Any = None) -> Any:  # noqa: A002 - PyTorch's names
    """NaN bounds count where they are tensors."""
    low = x if min is None else o.at_least(x, min) if isinstance(min, (int, float)) else o.maximum(x, min)
    return low if max is None else o.at_most(low, max) if isinstance(max, (int, float)) else o.minimum(low, max)


def _lerp(o: Any, a: Any, b: Any, w: Any) -> Any:
    """From the nearer end, rounded once: so do PyTorch's vectors."""
    near = o.lt(o.abs(w), _HALF)
    return o.fused(o.where(near, w, o.sub(w, 1.0)), o.sub(b, a), o.where(near, a, b))


def _softplus(o: Any, x: Any, beta: Any = 1, threshold: Any = 20) -> Any:
    scaled = o.mul(x, beta)
    soft = o.log1p(o.exp(scaled))
    return o.where(o.gt(scaled, threshold), x, soft if beta == 1 else o.div(soft, beta))


def _gelu(o: Any, x: Any, approximate: str = "none") -> Any:
    if approximate == "none":
        return o.mul(o.mul(x, _HALF), o.add(o.erf(o.mul(x, _ROOT)), 1.0))
    cube = o.mul(o.mul(x, x), x)
    inner = o.mul(o.add(x, o.mul(cube, 0.044715)), math.sqrt(2 / math.pi))
    return o.mul(o.mul(x, _HALF), o.add(o.tanh(inner), 1.0))


def _elu(o: Any, x: Any, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Any:
    negative = o.mul(o.mul(o.expm1(o.mul(x, input_scale)), alpha), scale)
    return o.where(o.gt(x, 0), o.mul(x, scale), negative)


def _log_sigmoid(o: Any, x: Any) -> Any:
    """The value, and what PyTorch keeps of it for its gradient."""
    small = o.exp(o.neg(o.abs(x)))
    return o.sub(o.minimum(x, 0), o.log1p(small)), small


def _hardsigmoid(o: Any, x: Any) -> Any:
    return o.div(_clamp(o, o.add(x, 3.0), 0.0, 6.0), 6.0)


COMPOSITE: dict[str, Steps] = {
    "add": _add,
    "sub": _sub,
    "rsub": lambda o, x, y, alpha=1: _sub(o, y, x, alpha),
    "mul": _mul,
    "div": _div,
    "pow": _pow,
    "square": lambda o, x: o.mul(x, x),
    "rsqrt": lambda o, x: o.reciprocal(o.sqrt(x)),
    "lerp": _lerp,
    "addcmul": lambda o, x, a, b, value=1: o.add(x, o.mul(o.mul(a, value), b)),
    "addcdiv": lambda o, x, a, b, value=1: o.add(x, o.div(o.mul(a, value), b)),
    "clamp": _clamp,
    "clamp_min": lambda o, x, low: _clamp(o, x, low),
    "clamp_max": lambda o, x, high: _clamp(o, x, None, high),
    "frac": lambda o, x: o.sub(x, o.trunc(x)),
    "sgn": lambda o, x: o.sign(x),
    "relu": lambda o, x: _clamp(o, x, 0),
    "relu6": lambda o, x: _clamp(o, x, 0, 6),
    "hardtanh": lambda o, x, low=-1, high=1: _clamp(o, x, low, high),
    "sigmoid": lambda o, x: o.logistic(x, 1.0),
    "silu": lambda o, x: o.logistic(x, x),
    "mish": lambda o, x: o.mul(x, o.tanh(_softplus(o, x))),
    "softplus": _softplus,
    "log_sigmoid_forward": _log_sigmoid,
    "gelu": _gelu,
    "elu": _elu,
    "celu": lambda o, x, alpha=1: _elu(o, x, alpha, 1, o.div(1.0, alpha)),
    "leaky_relu": lambda o, x, slope=0.01: o.where(o.gt(x, 0), x, o.mul(x, slope)),
    "_prelu_kernel": lambda o, x, weight: o.where(o.gt(x, 0), x, o.mul(x, weight)),
    "hardsigmoid": _hardsigmoid,
    "hardswish": lambda o, x: o.div(o.mul(x, _clamp(o, o.add(x, 3.0), 0.0, 6.0)), 6.0),
    "softshrink": lambda o, x, by=0.5: o.where(
        o.gt(x, by), o.sub(x, by), o.where(o.lt(x, -by), o.add(x, by), o.mul(x, 0))
    ),
    "hardshrink": lambda o, x, by=0.5: o.where(o.logical_and(o.ge(x, -by), o.le(x, by)), 0, x),
    "threshold": lambda o, x, at, value: o.where(o.le(x, at), value, x),
    "masked_fill": lambda o, x, mask, value: o.where(mask, value, x),
    "heaviside": lambda o, x, at: o.where(o.eq(x, 0), at, o.where(o.gt(x, 0), 1, 0)),
    "xlogy": lambda o, x, y: o.where(o.ne(y, y), y, o.where(o.eq(x, 0), 0, o.mul(x, o.log(y)))),
    "logaddexp": lambda o, a, b: o.where(
        o.eq(a, b),
        o.add(a, math.log(2)),
        o.add(o.maximum(a, b), o.log1p(o.exp(o.neg(o.abs(o.sub(a, b)))))),
    ),
    "isnan": lambda o, x: o.ne(x, x),
    "deg2rad": lambda o, x: o.mul(x, math.pi / 180),
    "rad2deg": lambda o, x: o.mul(x, 180 / math.pi),
}
"""In steps; the builder's ``multiply`` and ``divide`` are the leaves ``mul`` and ``div``."""
