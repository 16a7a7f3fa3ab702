"""Whether two gradients are the same, and where they differ most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from pullback import _tolerances


def same(got: torch.Tensor | None, expected: torch.Tensor | None, level: str = "exact") -> bool:
    """Whether two gradients agree; None is zero, elements that are not finite in the expectation are left out."""
    if got is None or expected is None:
        other = expected if got is None else got
        return other is None or _negligible(other)
    if got.shape != expected.shape:
        return False
    return not bool(wrong(got, expected, level).any())


def all_same(got: Sequence[torch.Tensor | None], expected: Sequence[torch.Tensor | None], level: str = "exact") -> bool:
    """Whether two lists of gradients agree."""
    return all(same(a, b, level) for a, b in zip(got, expected, strict=True))


def _negligible(tensor: torch.Tensor) -> bool:
    return tensor.numel() == 0 or not bool((tensor.abs() > _tolerances.NOTHING).any())


def is_zero(tensor: torch.Tensor | None) -> bool:
    """Whether a gradient is None or zero everywhere."""
    return tensor is None or _negligible(tensor)


def wrong(got: torch.Tensor, expected: torch.Tensor, level: str = "exact") -> torch.Tensor:
    """A mask of the elements that differ."""
    rtol, atol = _tolerances.CHECK[level]
    got, expected = _wide(got), _wide(expected)
    usable = torch.isfinite(expected)
    size = expected[usable].abs().max() if usable.any() else expected.new_zeros(()).abs()
    bound = rtol * expected.abs() + atol * size + _tolerances.NOTHING
    return usable & ~((got - expected).abs() <= bound)


def isolated(got: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """A mask of elements that are off by far more than their neighbours: one wrong entry that is no rounding."""
    got, expected = _wide(got), _wide(expected)
    error = torch.nan_to_num((got - expected).abs(), nan=0.0)
    if error.numel() < 2:
        return torch.zeros_like(error, dtype=torch.bool)
    rtol, share, factor = _tolerances.ISOLATED
    size = torch.nan_to_num(expected.abs(), nan=0.0, posinf=0.0)
    floor = torch.maximum(share * size.max(), factor * error.reshape(-1).median())
    return (error > rtol * size) & (error > floor + _tolerances.NOTHING * share) & torch.isfinite(expected)


def beyond(got: torch.Tensor, expected: torch.Tensor, doubt: torch.Tensor) -> torch.Tensor:
    """A mask of elements that are off by more than the doubt about what is expected."""
    error, size = (_wide(got) - _wide(expected)).abs(), _wide(expected).abs()
    largest = size.max() if size.numel() else 0.0
    rtol, share, factor = _tolerances.DOUBTED
    return error > rtol * size + share * largest + factor * doubt + _tolerances.NOTHING


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    tensor = tensor if tensor.layout is torch.strided else tensor.to_dense()
    return tensor.detach().to(torch.complex128 if tensor.is_complex() else torch.float64)


def worst(got: torch.Tensor | None, expected: torch.Tensor | None) -> dict[str, Any]:
    """Where two gradients differ most: index, got, expected."""
    if expected is None and got is None:
        return {}
    got = torch.zeros_like(expected) if got is None else got  # type: ignore[arg-type]
    expected = torch.zeros_like(got) if expected is None else expected
    error = torch.nan_to_num((_wide(got) - _wide(expected)).abs(), nan=torch.inf)
    flat = int(error.reshape(-1).argmax()) if error.numel() else 0
    index = [int(i) for i in torch.unravel_index(torch.tensor(flat), got.shape)] if got.ndim else []
    return {"index": index, "got": _number(got.reshape(-1)[flat]), "expected": _number(expected.reshape(-1)[flat])}


def _number(value: torch.Tensor) -> Any:
    number = value.item()
    return str(number) if isinstance(number, complex) else float(f"{number:.6g}")


def ratio(got: torch.Tensor | None, expected: torch.Tensor | None) -> complex | float | None:
    """The constant c with got = c · expected, or None if there is none."""
    if got is None or expected is None or got.shape != expected.shape:
        return None
    a, b = _wide(got).reshape(-1), _wide(expected).reshape(-1)
    live = torch.isfinite(a) & torch.isfinite(b)
    a, b = a[live], b[live]
    if not len(b) or not bool(b.abs().max() > _tolerances.NOTHING) or not bool(a.abs().max() > _tolerances.NOTHING):
        return None
    if a.is_complex() != b.is_complex():
        return None
    factor = torch.vdot(b, a) / torch.vdot(b, b)
    if wrong(a, factor * b, "exact").any():
        return None
    number: complex | float = factor.item()
    return number
