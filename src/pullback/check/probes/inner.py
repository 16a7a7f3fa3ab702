"""Backward does not call .backward() itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pullback._torch import TorchFunctionMode
from pullback.check.case import Case, cotangents
from pullback.check.report import Finding

NEEDS = "gradient"


class _Watch(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.called = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.called |= getattr(func, "__qualname__", "").endswith("Tensor.backward")
        return func(*args, **(kwargs or {}))


def probe(case: Case) -> Iterator[Finding]:
    """Call backward by hand and see what it calls."""
    watch = _Watch()
    try:
        case.replay(case.arguments, cotangents(case.base.outputs), under=watch)
    except Exception:  # it cannot be called by hand
        return
    if watch.called:
        yield Finding(
            "inner-backward-call", "backward calls .backward() itself",
            cause="an inner .backward() adds to .grad of every leaf it reaches, and has no second derivative",
            fix="use torch.autograd.grad(y, inputs, grad_output) with recording on", level="warning",
        )  # fmt: skip
