"""Where the first NaN of a computation comes from."""

from __future__ import annotations

from typing import Any

import torch

from pullback._torch import TorchDispatchMode
from pullback.check import tree

POLES = ("log", "log2", "log10", "log1p", "reciprocal", "div", "rsqrt", "pow", "rdiv")
MASKS = ("where", "masked_fill", "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_not",
         "bitwise_and", "bitwise_or", "bitwise_not", "heaviside", "sign", "sgn", "isfinite", "isnan")  # fmt: skip


class Origin(TorchDispatchMode):
    """Follows infinities and masks; ``cause`` is the fault's name for the first NaN made from numbers."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.tags: dict[int, str] = {}
        self.alive: list[torch.Tensor] = []
        self.cause: str | None = None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func.__name__.split(".")[0].strip("_")
        given = tree.tensors((args, kwargs or {}))
        for out in tree.tensors(result):
            self._follow(name, given, out)
        return result

    def _follow(self, name: str, given: list[torch.Tensor], out: torch.Tensor) -> None:
        tags = {self.tags[id(t)] for t in given if id(t) in self.tags}
        tag = self._tag(name, given, out, tags)
        if tag:
            self.tags[id(out)] = tag
            self.alive.append(out)
        if self.cause is None and _has_nan(out) and not any(map(_has_nan, given)):
            self.cause = self._named(name, tags)

    def _tag(self, name: str, given: list[torch.Tensor], out: torch.Tensor, tags: set[str]) -> str | None:
        if out.dtype is torch.bool or name in MASKS:
            return "mask"
        if _has_inf(out) and not any(map(_has_inf, given)):
            return "pole" if name in POLES and _near_pole(name, given) else "overflow"
        for tag in ("overflow", "pole"):
            if tag in tags and _has_inf(out):
                return tag
        return "mask" if "mask" in tags and name not in ("add", "sub") else None

    def _named(self, name: str, tags: set[str]) -> str:
        if "overflow" in tags:
            return "exp-overflow-nan"
        if name in ("mul", "mm", "bmm", "dot") and "mask" in tags:
            return "masked-nan-leak"
        return "nan-at-kink"


def _near_pole(name: str, given: list[torch.Tensor]) -> bool:
    """Whether something small is divided by (or the logarithm taken of), rather than something large made larger."""
    divisor = given[-1] if name in ("div", "rdiv") else given[0]
    return divisor.numel() > 0 and bool((divisor.abs() < 1e-30).any())


def _has_nan(t: torch.Tensor) -> bool:
    return tree.is_differentiable(t) and t.layout is torch.strided and bool(torch.isnan(t).any())


def _has_inf(t: torch.Tensor) -> bool:
    return tree.is_differentiable(t) and t.layout is torch.strided and bool(torch.isinf(t).any())
