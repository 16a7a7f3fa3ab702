"""A rule's result made to fit its argument: summed over broadcast dimensions and cast; anything else is an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from pullback import _describe
from pullback._torch import compiling
from pullback.errors import RuleResultError


class Like(NamedTuple):
    """What a gradient has to look like."""

    shape: torch.Size
    dtype: torch.dtype
    device: torch.device

    def __str__(self) -> str:
        return _describe.like(self.shape, self.dtype, self.device)


def like(tensor: torch.Tensor) -> Like:
    """What the gradient of ``tensor`` has to look like."""
    return Like(tensor.shape, tensor.dtype, tensor.device)


def fit(who: Callable[[], str], result: Any, wanted: Like) -> torch.Tensor | None:
    """``result`` as the gradient of an argument that is like ``wanted``; ``None`` stays ``None`` (zero).

    Raises:
        RuleResultError: If the result is no tensor, of an integer dtype, on another device, or of a shape that
            broadcasting cannot have made from the argument's.
    """
    if result is None:
        return None
    problem = _problem(result, wanted)
    if problem:
        raise RuleResultError(who(), *problem)
    if compiling():  # compiled autograd: sizes are symbols there, and the engine checks them
        return result  # type: ignore[no-any-return]
    if result.shape != wanted.shape:
        result = result.sum_to_size(wanted.shape)
    if result.dtype is not wanted.dtype:
        if result.dtype.is_complex and not wanted.dtype.is_complex:
            result = torch.real(result)  # what the engine does, too: the gradient of a real argument is real
        result = result.to(wanted.dtype)
    return result  # type: ignore[no-any-return]


def _problem(result: Any, wanted: Like) -> tuple[str, str, str] | None:
    if not isinstance(result, torch.Tensor):
        return f"must return a tensor like {wanted}, or None for zero", _describe.value(result), "return a tensor"
    got = _describe.tensor(result)
    if not (result.is_floating_point() or result.is_complex()):
        return (
            f"must return a gradient like {wanted}",
            got,
            "multiply by the cotangent: an integer or boolean tensor is a mask or an index, not a gradient",
        )
    if not compiling() and not _summable(result.shape, wanted.shape):
        return (
            f"must return a tensor of shape {tuple(wanted.shape)}, or one that broadcasting made from it",
            f"shape {tuple(result.shape)}",
            "reduce or reshape the result to the argument's shape",
        )
    if result.device != wanted.device:
        return f"must return a tensor on {wanted.device}", f"{got} on {result.device}", "create it on x.device"
    return None


def _summable(shape: torch.Size, target: torch.Size) -> bool:
    extra = len(shape) - len(target)
    return extra >= 0 and all(a == b or b == 1 for a, b in zip(shape[extra:], target, strict=True))
