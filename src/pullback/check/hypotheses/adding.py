"""A mode under which what is written at indices is added to what is there."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from pullback._torch import TorchFunctionMode


class Adding(TorchFunctionMode):
    """Turns scatter, index_copy, index_put and assignments through an index into sums."""

    def __init__(self) -> None:
        super().__init__()
        self.used = False
        self.read: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}  # what was read at indices, and as it was

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name == "__getitem__" and _by_index(args[1]):
            found = func(*args)
            self.read[id(found)] = found, found.clone()
            return found
        if name == "__setitem__" and id(args[2]) in self.read:  # x[i] += y reads, adds and writes
            args = (*args[:2], args[2] - self.read[id(args[2])][1])
        other = INSTEAD.get(name.rstrip("_") if name != "__setitem__" else name)
        if other is None or "reduce" in (kwargs or {}):
            return func(*args, **(kwargs or {}))
        self.used = True
        return (
            other(*args, **(kwargs or {})) if name.endswith("_") else other(args[0].clone(), *args[1:], **kwargs or {})
        )


def _scatter(x: torch.Tensor, dim: int, index: torch.Tensor, src: Any = None, value: Any = None) -> torch.Tensor:
    source = src if src is not None else value
    return x.scatter_add_(dim, index, source if isinstance(source, torch.Tensor) else x.new_full(index.shape, source))


def _index_copy(x: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    return x.index_add_(dim, index, source)


def _index_put(x: torch.Tensor, indices: Any, values: torch.Tensor, accumulate: bool = False) -> torch.Tensor:
    return x.index_put_(indices, values, accumulate=True)


def _setitem(x: torch.Tensor, key: Any, value: Any) -> None:
    """Add to the elements that a key names, each as often as it is named."""
    if not _by_index(key):
        x[key] = value
        return
    places = torch.arange(math.prod(x.shape)).reshape(x.shape)[key]
    parts = torch.as_tensor(value, dtype=x.dtype).expand(places.shape)
    x += torch.zeros(x.numel(), dtype=x.dtype).index_add_(0, places.reshape(-1), parts.reshape(-1)).reshape(x.shape)


def _by_index(key: Any) -> bool:
    parts = key if isinstance(key, tuple) else (key,)
    return any(isinstance(part, torch.Tensor) and part.dtype is not torch.bool for part in parts)


INSTEAD: dict[str, Callable[..., Any]] = {
    "scatter": _scatter,
    "index_copy": _index_copy,
    "index_put": _index_put,
    "__setitem__": _setitem,
}
