"""Backward computes in the precision of its inputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from pullback._torch import TorchDispatchMode
from pullback.check import compare, reference, state, tree
from pullback.check.case import Case, cotangents, pull, replaced_backward
from pullback.check.report import Finding

NEEDS = "gradient"
LOW = (torch.float32, torch.float16, torch.bfloat16, torch.complex64)
ROUNDING = 1e-11  # a float64 gradient is never off by more, relatively, without a detour through float32


def probe(case: Case) -> Iterator[Finding]:
    """Watch backward for conversions of float64 to something smaller that cost digits."""
    wide = all(x.dtype in (torch.float64, torch.complex128) for x in case.arguments.differentiable)
    if not wide or case.target.function is None or not reference.is_exact(case) or not lowered(case):
        return
    for index, sample in enumerate(case.facts.get("samples", ())[:2]):
        for leaf, name in enumerate(case.arguments.diff_names):
            got, expected = sample.got[leaf], sample.expected[leaf]
            if got is None or expected is None or got.shape != expected.shape or index:
                continue
            error = (got - expected).abs().max() / expected.abs().max().clamp_min(1e-300)
            if ROUNDING < float(error) < 1e-2:
                yield Finding(
                    "precision-downcast", f"the gradient of {name!r} has {float(error):.0e} relative error in float64",
                    cause="backward converts float64 to a smaller dtype; the result is cast back without a word",
                    fix="stay in the input's dtype", argument=name,
                    evidence=compare.worst(got, expected) | {"error": float(error)},
                    level=None if _asked_in_double(case) else "warning",
                )  # fmt: skip


def _asked_in_double(case: Case) -> bool:
    """Whether anybody calls it in float64: for float32 alone the digits are there."""
    return any(x.dtype in (torch.float64, torch.complex128) for x in case.given.differentiable)


class _Watch(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.lowered = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if any(t.dtype in LOW for t in tree.tensors((result, args))):
            self.lowered = True
        return result


def lowered(case: Case) -> bool:
    """Whether anything in backward is of lower precision than float64."""
    cls, backward = case.target.function, case.target.backward
    if cls is None or backward is None:
        return False
    watch = _Watch()

    def watched(ctx: Any, *incoming: Any) -> Any:
        with watch:
            return backward(ctx, *incoming)

    state.seed()
    leaves, passed = case.arguments.fresh()
    with replaced_backward(cls, watched):
        outputs = tree.tensors(case.target.apply(*passed))
        pull(outputs, leaves, cotangents(outputs))
    return watch.lowered
