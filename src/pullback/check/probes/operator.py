"""An operator of torch.library can be traced: its fake implementation says what the real one gives."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from pullback import _describe, _torch
from pullback.check import tree
from pullback.check.case import Case
from pullback.check.report import Finding

NEEDS = "forward"


def probe(case: Case) -> Iterator[Finding]:
    """Compare shapes and dtypes on the meta device with the real ones."""
    if case.target.kind != "operator":
        return
    if not _torch.custom_op_parts(case.target.subject).has_fake:
        yield Finding("custom-op-no-fake", "there is no fake implementation: torch.compile and export cannot trace it",
                      fix="add one with register_fake")  # fmt: skip
        return
    try:
        fake = tree.tensors(case.target.apply(*case.arguments.map(_to_meta).values))
    except Exception:  # it needs data, which is its right
        return
    real = case.base.outputs
    for index, (a, b) in enumerate(zip(fake, real, strict=False)):
        if a.shape != b.shape or a.dtype != b.dtype:
            yield Finding(
                "custom-op-no-fake", f"the fake implementation says {_describe.tensor(a)} for output {index}, the real "
                f"one gives {_describe.tensor(b)}", fix="let register_fake return what the operator returns",
                level="error",
            )  # fmt: skip


def _to_meta(leaf: object) -> object:
    return leaf.to("meta") if isinstance(leaf, torch.Tensor) else leaf
