"""No gradient contains memory that nobody wrote: fresh memory is filled with NaN while the target runs."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from pullback import _torch
from pullback.check.case import Case, Outcome
from pullback.check.report import Finding

NEEDS = "gradient"


def probe(case: Case) -> Iterator[Finding]:
    """Run once with fresh memory full of NaN."""
    filled = run_filled(case)
    if not filled.ok:
        return
    for name, plain, grad in zip(case.arguments.diff_names, case.base.grads, filled.grads, strict=True):
        if plain is None or grad is None:
            continue
        if bool((torch.isnan(grad) & ~torch.isnan(plain)).any()):
            yield Finding(
                "uninitialised-grad", f"the gradient of {name!r} contains uninitialised memory",
                cause="it is made with empty, new_empty or empty_like and only partly written",
                fix="start from zeros (zeros_like, new_zeros)", argument=name,
            )  # fmt: skip
    for index, (out, plain) in enumerate(zip(filled.outputs, case.base.outputs, strict=True)):
        if bool((torch.isnan(out) & ~torch.isnan(plain)).any()):
            yield Finding("uninitialised-grad", f"output {index} contains uninitialised memory",
                          fix="start from zeros")  # fmt: skip


def run_filled(case: Case) -> Outcome:
    """The plain experiment with fresh memory full of NaN."""
    deterministic = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    fill: bool = vars(torch.utils)["deterministic"].fill_uninitialized_memory
    _torch.set_deterministic(True, warn_only=True)
    _fill(True)
    try:
        return case.run()
    finally:
        _fill(fill)
        _torch.set_deterministic(deterministic, warn_only=warn_only)


def _fill(on: bool) -> None:
    setattr(vars(torch.utils)["deterministic"], "fill_uninitialized_memory", on)  # noqa: B010 it has no stub
