"""The value of a parameter with a constraint: what is written into it reaches what is stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch

from pullback._torch import compiling, pytree


class Value(torch.Tensor):
    """What ``module.alpha`` reads where ``raw_alpha`` is stored: a tensor that hands on what changes it in place.

    It was computed a moment ago, so that ``torch.nn.init.constant_(module.alpha, 2.0)`` would otherwise change nothing
    that lasts, without a word. All that is computed from it is a plain tensor.
    """

    plain: torch.Tensor
    write: Callable[[], None]

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """The function of the plain tensors; those that it has changed are written, and views stay connected."""
        values = [v for v in pytree.tree_leaves((args, kwargs)) if isinstance(v, Value)]
        before = [v.__dict__["plain"]._version for v in values]
        args, kwargs = pytree.tree_map_only(Value, unwrapped, (args, kwargs or {}))
        result = func(*args, **kwargs)
        for value, version in zip(values, before):
            if unwrapped(value)._version != version:
                value.__dict__["write"]()
            result = pytree.tree_map_only(torch.Tensor, partial(connected, value=value), result)
        return result


def unwrapped(value: Value) -> torch.Tensor:
    """The plain tensor; past ``__torch_function__``, which attributes go through, too."""
    return value.__dict__["plain"]  # type: ignore[no-any-return]


def written(plain: torch.Tensor, write: Callable[[], None]) -> Value:
    """A tensor that calls ``write`` when it has been changed in place."""
    value = plain.as_subclass(Value)
    value.__dict__.update(plain=plain, write=write)
    return value


def connected(result: torch.Tensor, value: Value) -> torch.Tensor:
    """A result that shares its memory with a value, such as its ``data``, as one that writes there, too."""
    plain = unwrapped(value)
    if type(result) is not torch.Tensor or result.layout is not torch.strided:
        return result
    if result is plain:
        return value
    same = result.untyped_storage().data_ptr() == plain.untyped_storage().data_ptr() != 0
    return written(result, value.__dict__["write"]) if same else result


def value_of(stored: torch.Tensor, plain: torch.Tensor, write: Callable[[torch.Tensor], None]) -> torch.Tensor:
    """The value of what is stored: one that writes, if that is an ordinary parameter outside of compiled code."""
    if type(stored) is not torch.nn.Parameter or compiling():
        return plain
    if plain.is_inference():
        with torch.inference_mode(False):
            plain = plain.clone()
    return written(plain, lambda: write(plain.detach()))
