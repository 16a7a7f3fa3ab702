"""What an entry of the catalogue should give, from its record alone: by mpmath, or by autograd of its plain formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mpmath as mp
import torch
from compare import assert_gradients, assert_values

from pullback.functional.record import RECORDS, Record
from pullback.functional.reference import double, exact_at, number
from pullback.functional.sample import sample

# its value and gradient are no function of one element: compared with autograd of the plain formula
WHOLE = {record.name for record in RECORDS.values() if callable(record.formula)}
# a tangent passes through unchanged, and the rule is not linear in the cotangent
NONLINEAR = {"clip_gradient", "clip_gradient_norm", "sign_gradient"}
# they keep nothing of their own; what they are given cannot be exported, or need not be
EAGER_ONLY = {"log_gradient": "its argument is a function that is called with the gradient"}
ELEMENTWISE = [r for r in RECORDS.values() if r.name not in WHOLE]
WEIGHTS = torch.tensor([0.7, -1.3, 2.1, 0.4, -0.6, 1.9], dtype=torch.float64)
SILENT = {"log_gradient": {"log": lambda g: None}}  # options in place of the defaults


def arguments(record: Record, values: Mapping[str, Any]) -> dict[str, Any]:
    """All that the function is called with."""
    return {**values, **SILENT.get(record.name, {})}


def names(record: Record) -> list[str]:
    """The differentiable arguments."""
    return [*record.tensors, *record.parameters]


def scalars(record: Record, values: Mapping[str, torch.Tensor], index: int) -> dict[str, Any]:
    """The arguments of one element, in the names of the formulas."""
    pick = {n: float(v.flatten()[index % v.numel()]) for n, v in values.items()}
    options = {n: v for n, v in record.options.items() if isinstance(v, (int, float))}
    return {("x" if n == "input" else n): v for n, v in {**options, **pick}.items()}


def slope(formula: str, arg: str, at: Mapping[str, Any]) -> Any:
    """The derivative of a formula by differences, in mpmath."""
    step = mp.mpf(10) ** -20
    f = [exact_at(formula, {**at, arg: number(at[arg]) + k * step}) for k in (-2, -1, 1, 2)]
    return (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * step)


def gradient(record: Record, arg: str, at: Mapping[str, Any], g: float) -> Any:
    """The declared gradient of an argument at one element."""
    arg = "x" if arg == "input" else arg
    if record.gradient:
        return exact_at(record.gradient[arg], {**at, "g": g})
    like = record.like.get(arg, record.formula) if isinstance(record.like, Mapping) else record.like
    return g * slope(str(like or record.formula), arg, at)


def second(record: Record, arg: str, other: str, at: Mapping[str, Any], g: float) -> Any:
    """The derivative of the declared gradient of one argument with respect to another."""
    other, step = "x" if other == "input" else other, mp.mpf(10) ** -12
    with mp.workdps(60):
        around = [{**at, other: number(at[other]) + k * step} for k in (-1, 1)]
        low, high = (gradient(record, arg, point, g) for point in around)
        return (high - low) / (2 * step)


def total(found: Sequence[Any], like: torch.Tensor) -> torch.Tensor:
    """Numbers per element as the gradient of an argument: summed where it is a scalar."""
    each = torch.tensor([float(v) for v in found], dtype=torch.float64)
    return each.reshape(like.shape) if like.numel() == each.numel() else each.sum().reshape(like.shape)


def expected(record: Record, values: Mapping[str, torch.Tensor], g: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The value and the gradients of all arguments."""
    if record.name in WHOLE:
        return whole(record, values, g)
    with mp.workdps(60):
        at = [scalars(record, values, i) for i in range(g.numel())]
        value = torch.tensor([float(exact_at(str(record.formula), a)) for a in at], dtype=torch.float64)
        pulled = [
            total([gradient(record, n, a, float(w)) for a, w in zip(at, g.flatten())], values[n]) for n in names(record)
        ]
    return value.reshape(g.shape), *pulled


def whole(record: Record, values: Mapping[str, torch.Tensor], g: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The same by autograd of the plain formula."""
    leaves = {n: v.detach().double().requires_grad_() for n, v in values.items()}
    assert callable(record.formula)
    out = record.formula(**leaves)
    return out.detach(), *torch.autograd.grad(out, list(leaves.values()), g)


def plain(record: Record, values: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """The formula as plain PyTorch computes it."""
    if callable(record.formula):
        return record.formula(**values)  # type: ignore[no-any-return]
    named = {("x" if n == "input" else n): v for n, v in {**record.options, **values}.items()}
    return double(record.formula, **named)


def pulled(record: Record, values: Mapping[str, torch.Tensor], g: Any = None) -> tuple[torch.Tensor, ...]:
    """The value and the gradients of the entry."""
    leaves = {n: v.detach().clone().requires_grad_() for n, v in values.items()}
    out = record.function(**arguments(record, leaves))
    g = torch.ones_like(out) if g is None else g
    return out.detach(), *torch.autograd.grad(out, list(leaves.values()), g, materialize_grads=True)


def of_tensors(record: Record) -> Callable[..., torch.Tensor]:
    """The entry as a function of its differentiable arguments, in order."""
    order = names(record)
    return lambda *tensors: record.function(**arguments(record, dict(zip(order, tensors, strict=True))))


def weights(record: Record, values: dict[str, torch.Tensor]) -> torch.Tensor:
    out = plain(record, values)
    return WEIGHTS[: max(out.numel(), 1)].to(out.dtype).expand(out.numel()).reshape(out.shape) if out.numel() else out


def check_values(record: Record) -> None:
    """Values and gradients are those of the formulas, in float64."""
    values = sample(record, 6)
    g = weights(record, values)
    found, true = pulled(record, values, g), expected(record, values, g)
    assert_values(found[:1], true[:1])
    assert_gradients(found[1:], scaled(record, true[1:]))


def scaled(record: Record, gradients: Any) -> Any:
    """What the formulas say of one element, for six that share a step, or a norm."""
    if record.name == "clip_gradient_norm":
        return [WEIGHTS / WEIGHTS.norm()]
    return [gradients[0], gradients[1] / 6**0.5] if record.name == "lsq" else gradients


def check_kinks(record: Record) -> None:
    """At the documented points value and gradient are as documented."""
    for at, (value, slope) in record.kinks.items():
        given = {n: torch.tensor([at], dtype=torch.float64) for n in record.tensors}
        parameters = {n: torch.tensor(p.initial, dtype=torch.float64) for n, p in record.parameters.items()}
        if len(record.tensors) == 2:
            given[record.tensors[1]] = torch.ones(1, dtype=torch.float64)
        found = pulled(record, {**given, **parameters})
        exactly = torch.tensor([value], dtype=torch.float64), torch.tensor([slope], dtype=torch.float64)
        try:
            assert_gradients([f.reshape(1) for f in found[:2]], exactly)
        except AssertionError as error:
            error.add_note(f"at {at}, value and gradient are {found[0].item()!r} and {found[1].item()!r}")
            raise
