"""The pointwise operations: one row each.

A row says what an operation means in SymPy, under which ATen name it is traced, how it is spelled in Python, and at
which argument it and its derivative are certainly finite. Formulas are read and printed, and graphs are
understood, by this table alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sympy as sp

from pullback.graph import functions as f
from pullback.graph.functions import Term


@dataclass(frozen=True)
class Op:
    """One pointwise operation.

    Args:
        name: The last part of its Python name, by which formulas call it as function or method.
        form: Its meaning: a SymPy function, or a Python function of SymPy expressions named as PyTorch's parameters.
        python: How it is printed; ``torch.<name>`` unless given.
        aten: The ATen name, where it is not ``name``.
        safe: An argument at which the function and its derivatives are finite; ``None`` where all are.
        function: The SymPy function that prints as this operation, where that is not ``form``.
    """

    name: str
    form: Callable[..., Term]
    python: str = ""
    aten: str = ""
    safe: int | None = None
    function: Any = None

    @property
    def spelling(self) -> str:
        """How the operation is written in Python."""
        return self.python or f"torch.{self.name}"


_HALF, _HUNDREDTH = sp.Rational(1, 2), sp.Rational(1, 100)


def number(x: Any) -> Term:
    """A condition used as a number is one where it holds."""
    return f.where(x, 1, 0) if isinstance(x, sp.logic.boolalg.Boolean) and not isinstance(x, sp.Symbol) else x


def _divide(a: Term, b: Term, rounding_mode: str | None = None) -> Term:
    a, b = number(a), number(b)
    quotient = a * sp.oo if b == 0 else a / b
    return {None: lambda q: q, "floor": f.floor, "trunc": f.trunc}[rounding_mode](quotient)


def _add(a: Term, b: Term, alpha: Term = 1) -> Term:
    return number(a) + alpha * number(b)


def _sub(a: Term, b: Term, alpha: Term = 1) -> Term:
    return number(a) - alpha * number(b)


def _mul(a: Term, b: Term) -> Term:
    masks = [t for t in (a, b) if number(t) is not t]
    if len(masks) == 1:
        return f.where(masks[0], b if masks[0] is a else a, 0)
    return number(a) * number(b)


def _clamp(x: Term, min: Term = None, max: Term = None) -> Term:  # noqa: A002 - PyTorch's names
    return f.clamp(x, -sp.oo if min is None else min, sp.oo if max is None else max)


def _softplus(x: Term, beta: Term = 1, threshold: Term = 20) -> Term:
    del threshold  # beyond it PyTorch writes x, which is softplus to the last bit of float32
    return f.softplus(beta * x) / beta


def _logit(x: Term, eps: Any = None) -> Term:
    return f.logit(x if eps is None else f.clamp(x, eps, 1 - eps))


def _nan_to_num(x: Term, nan: Term = 0, posinf: Any = None, neginf: Any = None) -> Term:
    if posinf is not None or neginf is not None:
        raise TypeError("only nan= may be given")
    return f.nan_to_num(x, nan)


def _gelu(x: Term, approximate: str = "none") -> Term:
    if approximate == "tanh":
        inner = sp.sqrt(2 / sp.pi) * (x + sp.Rational("0.044715") * x**3)
        return x * (1 + sp.tanh(inner)) / 2
    return x * f.erfc(-x / sp.sqrt(2)) / 2


def _elu(x: Term, alpha: Term = 1, scale: Term = 1, input_scale: Term = 1) -> Term:
    return f.where(sp.Gt(x, 0), scale * x, scale * alpha * f.expm1(input_scale * x))


def _hardtanh(x: Term, min_val: Term = -1, max_val: Term = 1) -> Term:
    inside = sp.And(sp.Gt(x, min_val), sp.Lt(x, max_val))
    return f.where(inside, x, f.where(sp.Gt(x, min_val), max_val, min_val))


def _hardsigmoid(x: Term) -> Term:
    return _hardtanh(x, -3, 3) / 6 + sp.Rational(1, 2)


def _leaky_relu(x: Term, negative_slope: Term = _HUNDREDTH) -> Term:
    return f.where(sp.Gt(x, 0), x, negative_slope * x)


def _softshrink(x: Term, lambd: Term = _HALF) -> Term:
    return f.where(sp.Gt(x, lambd), x - lambd, f.where(sp.Lt(x, -lambd), x + lambd, 0))


def _hardshrink(x: Term, lambd: Term = _HALF) -> Term:
    return f.where(sp.Or(sp.Gt(x, lambd), sp.Lt(x, -lambd)), x, 0)


_INFINITE = {"inf": sp.oo, "-inf": -sp.oo}
_SELU_ALPHA, _SELU_SCALE = sp.Rational("1.6732632423543772"), sp.Rational("1.0507009873554805")

_ARITHMETIC = (
    Op("add", _add),
    Op("sub", _sub),
    Op("subtract", _sub, aten="sub"),
    Op("rsub", lambda a, b, alpha=1: _sub(b, a, alpha)),
    Op("mul", _mul),
    Op("multiply", _mul, aten="mul"),
    Op("div", _divide),
    Op("divide", _divide, aten="div"),
    Op("true_divide", _divide, aten="div"),
    Op("floor_divide", lambda a, b: f.floor(a / b)),
    Op("remainder", f.remainder, safe=1),
    Op("fmod", lambda a, b: a - b * f.trunc(a / b)),
    Op("neg", lambda x: -x),
    Op("negative", lambda x: -x, aten="neg"),
    Op("positive", lambda x: x, aten="alias"),
    Op("reciprocal", lambda x: 1 / x),
    Op("pow", lambda x, exponent: x**exponent, safe=1),
    Op("float_power", lambda x, exponent: x**exponent, aten="pow"),
    Op("square", lambda x: x**2),
    Op("sqrt", lambda x: sp.sqrt(x), safe=1),
    Op("rsqrt", lambda x: 1 / sp.sqrt(x)),
    Op("lerp", lambda start, end, weight: start + weight * (end - start)),
    Op("addcmul", lambda x, tensor1, tensor2, value=1: x + value * tensor1 * tensor2),
    Op("addcdiv", lambda x, tensor1, tensor2, value=1: x + value * tensor1 / tensor2),
    Op("clone", lambda x, memory_format=None: x),
    Op("alias", lambda x: x),
    Op("float", lambda x: _INFINITE.get(x, x) if isinstance(x, str) else number(x)),
    Op("double", number),
    Op("to", lambda x, dtype=None: number(x), aten="_to_copy"),
    Op("tensor", lambda x: x),
    Op("zeros_like", lambda x: sp.S.Zero),
    Op("ones_like", lambda x: sp.S.One),
    Op("full_like", lambda x, fill_value: fill_value),
)

_CONDITIONS = (
    Op("gt", lambda a, b: sp.Gt(a, b)),
    Op("ge", lambda a, b: sp.Ge(a, b)),
    Op("lt", lambda a, b: sp.Lt(a, b)),
    Op("le", lambda a, b: sp.Le(a, b)),
    Op("eq", lambda a, b: sp.Eq(a, b)),
    Op("ne", lambda a, b: sp.Ne(a, b)),
    Op("logical_and", lambda a, b: sp.And(a, b)),
    Op("bitwise_and", lambda a, b: sp.And(a, b)),
    Op("logical_or", lambda a, b: sp.Or(a, b)),
    Op("bitwise_or", lambda a, b: sp.Or(a, b)),
    Op("logical_not", lambda a: sp.Not(a)),
    Op("bitwise_not", lambda a: sp.Not(a)),
    Op("logical_xor", lambda a, b: sp.Or(sp.And(a, sp.Not(b)), sp.And(sp.Not(a), b))),
    Op("isnan", f.isnan),
    Op("isinf", f.isinf),
    Op("isfinite", f.isfinite),
    Op("where", f.where),
    Op("masked_fill", lambda x, mask, value: f.where(mask, value, x)),
)

_ROUNDING = (
    Op("abs", f.absolute),
    Op("absolute", lambda x: f.absolute(x), aten="abs"),
    Op("sign", f.sign),
    Op("sgn", f.sgn),
    Op("floor", f.floor),
    Op("ceil", f.ceil),
    Op("round", f.rounded),
    Op("trunc", f.trunc),
    Op("frac", f.frac),
    Op("heaviside", f.heaviside),
    Op("nan_to_num", _nan_to_num, function=f.nan_to_num),
    Op("clamp", _clamp, function=f.clamp),
    Op("clip", _clamp, aten="clamp"),
    Op("clamp_min", lambda x, min: _clamp(x, min=min)),  # noqa: A006 - PyTorch's name
    Op("clamp_max", lambda x, max: _clamp(x, max=max)),  # noqa: A006 - PyTorch's name
    Op("maximum", f.maximum),
    Op("minimum", f.minimum),
    Op("fmax", lambda a, b: f.maximum(a, b)),
    Op("fmin", lambda a, b: f.minimum(a, b)),
    Op("copysign", lambda a, b: f.absolute(a) * f.where(sp.Ge(b, 0), 1, -1)),
    Op("detach", f.detach, python="{}.detach()"),
)

_ELEMENTARY = (
    Op("exp", sp.exp, safe=0),
    Op("exp2", lambda x: 2**x),
    Op("expm1", f.expm1, safe=0),
    Op("log", sp.log, safe=1),
    Op("log1p", f.log1p, safe=0),
    Op("log2", lambda x: sp.log(x) / sp.log(2)),
    Op("log10", lambda x: sp.log(x) / sp.log(10)),
    Op("logaddexp", f.logaddexp),
    Op("logaddexp2", lambda a, b: f.logaddexp(a * sp.log(2), b * sp.log(2)) / sp.log(2)),
    Op("xlogy", f.xlogy, safe=1),
    Op("xlog1py", f.xlog1py, python="torch.special.xlog1py", aten="special_xlog1py", safe=0),
    Op("entr", f.entr, python="torch.special.entr", aten="special_entr", safe=1),
    Op("logit", _logit, function=f.logit),
    Op("expit", lambda x: f.sigmoid(x), python="torch.special.expit", aten="sigmoid"),
    Op("sin", sp.sin),
    Op("cos", sp.cos),
    Op("tan", sp.tan),
    Op("asin", sp.asin, safe=0),
    Op("acos", sp.acos, safe=0),
    Op("atan", sp.atan),
    Op("arcsin", lambda x: sp.asin(x), aten="asin"),
    Op("arccos", lambda x: sp.acos(x), aten="acos"),
    Op("arctan", lambda x: sp.atan(x), aten="atan"),
    Op("atan2", f.atan2),
    Op("arctan2", lambda y, x: f.atan2(y, x), aten="atan2"),
    Op("sinh", sp.sinh, safe=0),
    Op("cosh", sp.cosh, safe=0),
    Op("tanh", sp.tanh),
    Op("asinh", sp.asinh),
    Op("acosh", sp.acosh, safe=2),
    Op("atanh", sp.atanh, safe=0),
    Op("hypot", f.hypot),
    Op("deg2rad", lambda x: x * sp.pi / 180),
    Op("rad2deg", lambda x: x * 180 / sp.pi),
    Op("sinc", f.sinc),
)

_SPECIAL = (
    Op("erf", sp.erf),
    Op("erfc", f.erfc),
    Op("erfinv", sp.erfinv, safe=0),
    Op("erfcx", f.erfcx, python="torch.special.erfcx", aten="special_erfcx", safe=0),
    Op("ndtr", f.ndtr, python="torch.special.ndtr", aten="special_ndtr"),
    Op("log_ndtr", f.log_ndtr, python="torch.special.log_ndtr", aten="special_log_ndtr"),
    Op("ndtri", f.ndtri, python="torch.special.ndtri", aten="special_ndtri"),
    Op("lgamma", f.lgamma, safe=1),
    Op("gammaln", lambda x: f.lgamma(x), python="torch.special.gammaln", aten="lgamma"),
    Op("digamma", f.digamma, safe=1),
    Op("psi", lambda x: f.digamma(x), python="torch.special.psi", aten="digamma"),
    Op("trigamma", f.trigamma, python="torch.polygamma(1, {})", safe=1),
    Op("polygamma", lambda n, x: f.trigamma(x) if n == 1 else sp.polygamma(n, x), safe=1),
    Op("i0", f.i0),
    Op("i1", f.i1, python="torch.special.i1", aten="special_i1"),
    Op("i0e", f.i0e, python="torch.special.i0e", aten="special_i0e"),
    Op("i1e", f.i1e, python="torch.special.i1e", aten="special_i1e"),
)

_F = "torch.nn.functional."
_ACTIVATIONS = (
    Op("sigmoid", f.sigmoid),
    Op("softplus", _softplus, function=f.softplus, python=_F + "softplus"),
    Op("logsigmoid", lambda x: -f.softplus(-x), python=_F + "logsigmoid", aten="log_sigmoid_forward"),
    Op("relu", lambda x: f.where(sp.Gt(x, 0), x, 0)),
    Op("relu6", lambda x: _hardtanh(x, 0, 6), python=_F + "relu6"),
    Op("leaky_relu", _leaky_relu, python=_F + "leaky_relu"),
    Op("_prelu_kernel", lambda x, weight: f.where(sp.Gt(x, 0), x, weight * x)),  # weights in the shape of channels
    Op("elu", _elu, python=_F + "elu"),
    Op("selu", lambda x: _elu(x, _SELU_ALPHA, _SELU_SCALE)),
    Op("celu", lambda x, alpha=1: _elu(x, alpha, 1, 1 / alpha)),
    Op("silu", lambda x: x * f.sigmoid(x), python=_F + "silu"),
    Op("mish", lambda x: x * sp.tanh(f.softplus(x)), python=_F + "mish"),
    Op("gelu", _gelu, python=_F + "gelu"),
    Op("hardtanh", _hardtanh, python=_F + "hardtanh"),
    Op("hardsigmoid", _hardsigmoid, python=_F + "hardsigmoid"),
    Op("hardswish", lambda x: x * _hardsigmoid(x), python=_F + "hardswish"),
    Op("softsign", lambda x: x / (1 + f.absolute(x)), python=_F + "softsign"),
    Op("tanhshrink", lambda x: x - sp.tanh(x), python=_F + "tanhshrink"),
    Op("softshrink", _softshrink, python=_F + "softshrink"),
    Op("hardshrink", _hardshrink, python=_F + "hardshrink"),
    Op("threshold", lambda x, threshold, value: f.where(sp.Gt(x, threshold), x, value)),
)

OPS = {op.name: op for op in _ARITHMETIC + _CONDITIONS + _ROUNDING + _ELEMENTARY + _SPECIAL + _ACTIVATIONS}
"""Every row by the name that formulas use."""

BY_ATEN = {op.aten or op.name: op for op in reversed(OPS.values())}
"""Every row by its ATen name; of several spellings of one operation the first counts."""

BY_CLASS = {op.function or op.form: op for op in OPS.values() if op.function or isinstance(op.form, type)}
"""The rows whose meaning is a single SymPy function, by that function: those that can be printed."""

SAFE = {function: op.safe for function, op in BY_CLASS.items() if op.safe is not None}
"""A harmless argument for each partial function."""

CONSTANTS = {"pi": sp.pi, "e": sp.E, "tau": 2 * sp.pi, "inf": sp.oo}
"""The constants that formulas may name, as ``math.pi`` or ``torch.pi``."""
