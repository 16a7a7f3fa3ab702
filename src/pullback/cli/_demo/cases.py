"""Each Function of the demo compared with a reference: plain PyTorch in float64, differentiated by autograd."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pullback._tolerances import gradient_tolerance
from pullback.cli._demo import functions as f

ELEMENTS = 1000  # for counting bytes


@dataclass(frozen=True)
class Case:
    """A Function and what it is compared with.

    Attributes:
        function: The Function.
        inputs: Where it is compared: numbers for each argument.
        plain: Plain PyTorch with the same values.
        meant: Plain PyTorch with the gradient that is meant, where that differs from the derivative of ``plain``.
        options: Hyperparameters.
    """

    function: Any
    inputs: tuple[Any, ...]
    plain: Callable[..., Tensor]
    meant: Callable[..., Tensor] | None = None
    options: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Row:
    """What comparing one Function gave."""

    name: str
    inputs: dict[str, Any]
    value: Any
    gradients: dict[str, Any]
    error: float  # the largest difference of a value or gradient from the reference, relative above 1
    kept: float  # bytes kept for backward, per element
    plain_kept: float | None  # the same in plain PyTorch, where that can have this gradient
    path: str

    @property
    def right(self) -> bool:
        """Whether the error is within the dtype's tolerance."""
        return self.error <= gradient_tolerance(torch.float32).rtol


ONE_TO_THREE = ([1.0, 2.0, 3.0],)


def _detached(x: Tensor) -> Tensor:
    return torch.round(x).detach()


def _table(x: Tensor) -> Tensor:
    """The straight line through the two entries of the table 0, 1, 4, 9 on either side of x."""
    left = x.detach().floor()
    return left**2 + (2 * left + 1) * (x - left)


CASES = (
    Case(f.custom_gradient, ONE_TO_THREE, lambda x: 2 * x, meant=lambda x: 3 * x),
    Case(f.doubling, ONE_TO_THREE, lambda x: 2 * x),
    Case(f.square, ONE_TO_THREE, lambda x: x**2),
    Case(f.cube, ONE_TO_THREE, lambda x: x**3),
    Case(f.exponential, ([0.0, 1.0, 2.0],), torch.exp),
    Case(f.sum_of_squares, ONE_TO_THREE, lambda x: (x**2).sum()),
    Case(f.root_plus_reciprocal, ([4.0, 9.0, 16.0],), lambda x: x.sqrt() + 1 / x),
    Case(
        f.learnable_clamp,
        ([-2.0, 0.0, 2.0], -1.0, 1.0),
        lambda x, low, high, scale: torch.clamp(x, low, high) * scale,
        options=(2.0,),
    ),
    Case(f.leaky, ([-2.0, 1.0, 3.0], 0.25), lambda x, slope: torch.where(x > 0, x, slope * x)),
    Case(
        f.quantize,
        ([0.6, 1.4, -0.9], 0.5),
        lambda x, step: torch.round(x / step) * step,
        meant=lambda x, step: x + (_detached(x / step) - (x / step).detach()) * step,
    ),
    Case(f.look_up, ([0.5, 1.5, 2.5],), _table),
    Case(f.softsign, ([-3.0, 0.5, 1.0],), lambda x: x / (1 + x.abs())),
    Case(f.log1pexp, ([-100.0, 0.0, 100.0],), lambda x: torch.log(1 + torch.exp(x))),
    Case(f.limit_gradient, ONE_TO_THREE, lambda x: x.clone(), meant=lambda x: x / 2),
)


def compare(case: Case) -> Row:
    """A Function's values and gradients beside those of its reference."""
    found, reference = _run(case, torch.float32), _run(case, torch.float64)
    large = [_large(v) for v in case.inputs]
    description = case.function.describe(*large, *case.options)
    names = inspect.signature(case.function).parameters
    can = case.meant is None and case.function is not f.look_up
    return Row(
        name=case.function.__name__,
        inputs=dict(zip(names, case.inputs)),
        value=found[0].tolist(),
        gradients={n: g.tolist() for n, g in zip(names, found[1:])},
        error=max(_error(a, b) for a, b in zip(found, reference)),
        kept=round(description.bytes / ELEMENTS, 1),
        plain_kept=round(_saved(case, large) / ELEMENTS, 1) if can else None,
        path=description.path,
    )


def _run(case: Case, dtype: torch.dtype) -> list[Tensor]:
    """Value and gradients: the Function's in float32, the reference's in float64."""
    inputs = [torch.tensor(v, dtype=dtype, requires_grad=True) for v in case.inputs]
    if dtype is torch.float32:
        out = meant = case.function(*inputs, *case.options)
    else:
        out = case.plain(*inputs, *case.options)
        meant = case.meant(*inputs, *case.options) if case.meant else out
    return [out.detach(), *torch.autograd.grad(meant, inputs, torch.ones_like(meant))]


def _error(found: Tensor, reference: Tensor) -> float:
    return float(((found - reference).abs() / reference.abs().clamp(min=1)).max())


def _large(value: Any) -> Tensor:
    """A list of numbers as many numbers; one number as it is."""
    numbers = torch.tensor(value)
    return (numbers.repeat(ELEMENTS)[:ELEMENTS].clone() if numbers.dim() else numbers).requires_grad_()


def _saved(case: Case, inputs: Sequence[Tensor]) -> int:
    """The bytes that plain PyTorch keeps for backward, each tensor once."""
    found: dict[int, Tensor] = {}  # holds them, so that no address comes twice

    def pack(tensor: Tensor) -> Tensor:
        found[tensor.data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        case.plain(*inputs, *case.options)
    return sum(tensor.nbytes for tensor in found.values())
