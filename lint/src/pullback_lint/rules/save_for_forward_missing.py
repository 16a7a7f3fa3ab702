"""Find a jvp that reads saved tensors which were saved for backward only."""

from __future__ import annotations

from collections.abc import Iterator

from pullback_lint.model.function import Function
from pullback_lint.problem import Problem

CODE = "PB411"


def check_function(function: Function) -> Iterator[Problem]:
    jvp = function.method("jvp")
    if jvp is None or not function.saves or "save_for_forward" in function.mark_calls or function.ctx_escapes:
        return
    for read in jvp.flow.reads.values():
        if read.name == "saved_tensors":
            yield Problem(
                read.node,
                f"`{jvp.ctx}.saved_tensors` is empty in `jvp`: nothing was saved for forward mode",
                fix="call `save_for_forward` as well",
            )
