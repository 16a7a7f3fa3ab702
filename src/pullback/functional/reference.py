"""The formula of a record in two arithmetics: mpmath, as exact as asked for, and float64 tensors.

Both offer the same names, so that one formula serves as documentation, as the reference of the tests, and as the
reference of the benchmark of accuracy. The float64 forms are stable; mpmath says whether they are.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import mpmath as mp
import torch

from pullback.errors import DefinitionError
from pullback.functional.record import Record

DIGITS = 60


def exact(formula: str, **values: Any) -> Any:
    """A formula in mpmath, with `DIGITS` digits.

    >>> float(exact("x * sigmoid(x)", x=0.0))
    0.0
    """
    with mp.workdps(DIGITS):
        numbers = {name: number(value) for name, value in values.items()}
        return mp.mpf(_evaluated(formula, EXACT, numbers))


def number(value: Any) -> Any:
    """A value as mpmath takes it; texts and booleans as they are."""
    return mp.mpf(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def exact_slope(formula: str, argument: str, **values: Any) -> Any:
    """The derivative of a formula with respect to one argument, by differences in twice the digits."""
    at = number(values[argument])
    with mp.workdps(2 * DIGITS):
        step = mp.mpf(10) ** -18 * max(1, abs(at))
        f = [exact_at(formula, {**values, argument: at + k * step}) for k in (-2, -1, 1, 2)]
        return (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * step)


def exact_at(formula: str, values: Mapping[str, Any]) -> Any:
    """`exact`, with numbers that are mpmath's already."""
    return mp.mpf(_evaluated(formula, EXACT, {n: number(v) for n, v in values.items()}))


def double(formula: str, **values: Any) -> torch.Tensor:
    """A formula in float64.

    >>> double("x * sigmoid(x)", x=torch.tensor([0.0]))
    tensor([0.], dtype=torch.float64)
    """
    tensors = {n: v.double() if isinstance(v, torch.Tensor) else v for n, v in values.items()}
    result = _evaluated(formula, DOUBLE, tensors)
    return result if isinstance(result, torch.Tensor) else torch.tensor(float(result), dtype=torch.float64)


_compiled = functools.cache(functools.partial(compile, filename="<formula>", mode="eval"))


def _evaluated(formula: str, names: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
    try:
        return eval(_compiled(formula), {"__builtins__": {}}, {**names, **values})
    except NameError as error:
        raise DefinitionError(
            f"the formula {formula!r}",
            f"may use the arguments ({', '.join(values)}) and {', '.join(sorted(names))}",
            f"{error.name!r}",
            "write it with these, or add a row to NAMES in pullback/functional/reference.py",
        ) from None


def formulas(record: Record) -> dict[str, str]:
    """For each differentiable argument the formula whose derivative is its gradient."""
    names = ["x" if n == "input" else n for n in (*record.tensors, *record.parameters)]
    if isinstance(record.like, Mapping):
        return {**dict.fromkeys(names, str(record.formula)), **record.like}
    return dict.fromkeys(names, str(record.like or record.formula))


def _select(condition: Any, yes: Any, no: Any) -> Any:
    return yes if condition else no


def _double_where(condition: Any, yes: Any, no: Any) -> torch.Tensor:
    return torch.where(condition, torch.as_tensor(yes).double(), torch.as_tensor(no).double())


def _double_softplus(x: torch.Tensor) -> torch.Tensor:
    return x.clamp(min=0) + torch.log1p(torch.exp(-x.abs()))


def _double_gated(u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """s(u)·(1 + v·s(-u)), whose second term is zero where u is infinite."""
    return torch.sigmoid(u) * (1 + torch.where(u.abs() < 745, v * torch.sigmoid(-u), 0.0))


def _double_log_cosh(x: torch.Tensor) -> torch.Tensor:
    near = torch.log1p(2 * torch.sinh(x.clamp(-1, 1) / 2).square())
    return torch.where(x.abs() < 1, near, x.abs() + torch.log1p(torch.exp(-2 * x.abs())) - math.log(2))


def _double_sech2(x: torch.Tensor) -> torch.Tensor:
    e = torch.exp(-2 * x.abs())
    return 4 * e / (1 + e).square()


def _double_tanh_shrink(x: torch.Tensor) -> torch.Tensor:
    """(x·cosh(x) - sinh(x)) / cosh(x), the numerator by its series where it cancels."""
    small = x.clamp(-1, 1)
    terms = [small ** (2 * k + 1) * (2 * k / math.factorial(2 * k + 1)) for k in range(12, 0, -1)]
    return torch.where(x.abs() < 1, sum(terms, torch.zeros_like(x)) / torch.cosh(small), x - torch.tanh(x))


def _bound(pick: Callable[..., torch.Tensor]) -> Callable[[Any, Any], torch.Tensor]:
    return lambda a, b: pick(torch.as_tensor(a).double(), torch.as_tensor(b).double())


# the functions that both call by the same name
SHARED = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1",
    "floor", "log", "log10", "log1p", "sign", "sin", "sinh", "tan", "tanh",
)  # fmt: skip
NAMES: dict[str, tuple[Any, Any]] = {
    **{name: (getattr(mp, name), getattr(torch, name)) for name in SHARED},
    "abs": (abs, torch.abs),
    "clamp": (lambda x, low, high: min(max(x, low), high), torch.clamp),
    "gated_slope": (lambda u, v: (1 + v / (1 + mp.exp(u))) / (1 + mp.exp(-u)), _double_gated),
    "log_cosh": (lambda x: mp.log(mp.cosh(x)), _double_log_cosh),
    "max": (max, _bound(torch.maximum)),
    "min": (min, _bound(torch.minimum)),
    "nan": (mp.nan, math.nan),
    "Phi": (lambda x: mp.erfc(-x / mp.sqrt(2)) / 2, lambda x: torch.erfc(-x / math.sqrt(2)) / 2),
    "phi": (mp.npdf, lambda x: torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)),
    "pi": (mp.pi, math.pi),
    "relu": (lambda x: max(x, mp.mpf(0)), torch.relu),
    "round": (mp.nint, torch.round),
    "sech2": (lambda x: mp.sech(x) ** 2, _double_sech2),
    "sigmoid": (lambda x: 1 / (1 + mp.exp(-x)), torch.sigmoid),
    "softplus": (lambda x: mp.log1p(mp.exp(x)), _double_softplus),
    "sqrt": (mp.sqrt, lambda x: torch.sqrt(torch.as_tensor(x, dtype=torch.float64))),
    "square": (lambda x: x * x, torch.square),
    "tanh_shrink": (lambda x: x - mp.tanh(x), _double_tanh_shrink),
    "where": (_select, _double_where),
}
EXACT: dict[str, Any] = {name: pair[0] for name, pair in NAMES.items()}
DOUBLE: dict[str, Any] = {name: pair[1] for name, pair in NAMES.items()}
