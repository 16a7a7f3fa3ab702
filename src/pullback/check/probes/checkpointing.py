"""Under checkpointing, where forward runs a second time before backward, the gradient is the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

from pullback.check import compare, tree
from pullback.check.case import Case
from pullback.check.report import Finding

NEEDS = "gradient"


def probe(case: Case) -> Iterator[Finding]:
    """Run through torch.utils.checkpoint and compare."""
    if not any(isinstance(leaf, torch.Tensor) for leaf in case.arguments.values):
        return
    yield from _offloaded(case)
    if any(t._version for t in tree.tensors(case.run(backward=False).passed)):
        return  # what is changed in place cannot be run twice, whoever wrote it
    outcome = case.run(apply=lambda *args: checkpoint(case.target.apply, *args, use_reentrant=False))
    if outcome.error is not None:
        yield _finding(
            f"{outcome.stage} raises {type(outcome.error).__name__}: {str(outcome.error).splitlines()[0][:160]}"
        )
        return
    for name, got, plain in zip(case.arguments.diff_names, outcome.grads, case.base.grads, strict=True):
        if not compare.same(got, plain):
            yield _finding(f"the gradient of {name!r} is another one", name)


def _offloaded(case: Case) -> Iterator[Finding]:
    """Saved tensors come back as copies, as they do when they are kept on another device meanwhile."""
    with torch.autograd.graph.saved_tensors_hooks(torch.clone, torch.clone):
        outcome = case.run()
    fix = "keep no addresses or identities of tensors, and let backward read what saved_tensors gives"
    if outcome.error is not None:
        first = (str(outcome.error).splitlines() or [""])[0]
        what = f"backward raises {type(outcome.error).__name__}: {first[:160]}"
        yield replace(_finding(what, where=COPIED), **COPIES, fix=fix)
        return
    for name, got, plain in zip(case.arguments.diff_names, outcome.grads, case.base.grads, strict=True):
        if not compare.same(got, plain):
            yield replace(_finding(f"the gradient of {name!r} is another one", name, COPIED), **COPIES, fix=fix)


COPIED = "when saved tensors are copied"
COPIES: dict[str, Any] = {
    "stack": "saved-tensor hooks",
    "cause": "saved tensors come back as copies there, as they do from offloading",
}


def _finding(what: str, argument: str | None = None, where: str = "under checkpointing") -> Finding:
    return Finding(
        "checkpoint-breaks", f"{where}, {what}", argument=argument, stack="checkpoint",
        cause="forward runs twice there, and the second run does not do the same as the first",
        fix="keep no state between calls, and everything backward needs with ctx.save_for_backward", level="warning",
    )  # fmt: skip
