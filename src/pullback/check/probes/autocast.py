"""The target works under autocast: forward inside, backward outside, as training does."""

from __future__ import annotations

import re
from collections.abc import Iterator

import torch

from pullback.check.arguments import Arguments
from pullback.check.case import Case
from pullback.check.report import Finding

NEEDS = "gradient"
DTYPES = re.compile(r"dtype|scalar type|BFloat16|Half", re.IGNORECASE)


def probe(case: Case) -> Iterator[Finding]:
    """Run forward under CPU autocast with float32 inputs."""
    single = case.arguments.map(_single)
    if not case.run(single).ok:
        return
    outcome = case.run(single, apply=_under_autocast(case))
    if outcome.stage == "backward" and outcome.error is not None and DTYPES.search(str(outcome.error)):
        yield Finding(
            "amp-dtype-mismatch", f"under autocast backward raises: {str(outcome.error).splitlines()[0][:200]}",
            cause="what forward computes under autocast is bfloat16, what comes from outside is float32",
            fix="decorate forward with torch.amp.custom_fwd and backward with torch.amp.custom_bwd",
            stack="autocast", level=_level(single),
        )  # fmt: skip


def _level(arguments: Arguments) -> str:
    return "warning"


def _single(leaf: object) -> object:
    if isinstance(leaf, torch.Tensor) and leaf.dtype is torch.float64:
        return leaf.float()
    return leaf


def _under_autocast(case: Case):  # type: ignore[no-untyped-def]
    def apply(*args: object) -> object:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return case.target.apply(*args)

    return apply
