"""torch.export keeps the gradient; run by choice, since it traces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from pullback.check import compare
from pullback.check.case import Case, Outcome
from pullback.check.report import Finding

NEEDS = "gradient"
BY_CHOICE = True


class Wrapped(torch.nn.Module):
    """A target as the module that torch.export wants."""

    def __init__(self, apply: Any) -> None:
        super().__init__()
        self.call = apply

    def forward(self, *args: Any) -> Any:
        """The target's result."""
        return self.call(*args)


def probe(case: Case) -> Iterator[Finding]:
    """Export, run what comes out, and compare its values and gradients."""
    if case.is_random:
        return
    outcome = _exported(case)
    if not outcome.ok:
        lines = [line for line in str(outcome.error).splitlines() if line.strip()] or [""]
        yield Finding("transform-fails", f"torch.export: {type(outcome.error).__name__}: {lines[0][:160]}",
                      fix="keep data-dependent Python out of forward", stack="export")  # fmt: skip
        return
    if not compare.all_same(outcome.outputs, [out.detach() for out in case.base.outputs]):
        yield Finding("transform-fails", "what torch.export makes gives other values", stack="export")
        return
    for name, got, plain in zip(case.arguments.diff_names, outcome.grads, case.base.grads, strict=True):
        if not compare.same(got, plain, "single"):
            yield Finding(
                "stack-drops-rule", f"exported, the gradient of {name!r} is another one", argument=name, stack="export",
                cause="torch.export keeps what forward computes, and autograd differentiates that",
                fix="make it a pullback Function: it exports as one operator that has its gradient",
                evidence=compare.worst(got, plain),
            )  # fmt: skip


def _exported(case: Case) -> Outcome:
    try:
        program = torch.export.export(Wrapped(case.target.apply), case.arguments.constant(), strict=False)
        made = program.module()
    except Exception as error:  # a result of the experiment
        return Outcome(error=error, stage="forward")
    return case.run(apply=lambda *args: made(*args), spy=False)
